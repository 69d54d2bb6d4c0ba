"""Whatever is given, there is a result or an exception of the right kind: never a panic, a crash or a hang."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import iglu_gnn
from iglu_gnn import Config, DataError, Dataset, Graph, Model, UsageError, predict, train

N, F = 12, 3
GOOD = np.arange(N * F, dtype=np.float32).reshape(N, F)
Y = np.arange(N) % 2
TRAIN = np.arange(8)


def made(x: object = GOOD, y: object = Y, **options: object) -> Dataset:
    return Dataset([[0, 1], [1, 2]], x, y, **{"train": TRAIN, **options})


BYTE_SWAPPED = GOOD.astype(GOOD.dtype.newbyteorder())
READ_ONLY = GOOD.copy()
READ_ONLY.flags.writeable = False
UNALIGNED = np.frombuffer(b"\0" + GOOD.tobytes(), np.uint8)[1:].view(np.float32).reshape(N, F)

FINE = {
    "float16": GOOD.astype(np.float16),
    "float64": GOOD.astype(np.float64),
    "longdouble": GOOD.astype(np.longdouble),
    "int8": GOOD.astype(np.int8),
    "uint64": GOOD.astype(np.uint64),
    "bool": GOOD > 5,
    "objects that are numbers": GOOD.astype(object),
    "fortran": np.asfortranarray(GOOD),
    "negative strides": GOOD[::-1, ::-1],
    "every second row": np.repeat(GOOD, 2, axis=0)[::2],
    "broadcast": np.broadcast_to(GOOD[:1], (N, F)),
    "read-only": READ_ONLY,
    "byte-swapped": BYTE_SWAPPED,
    "unaligned": UNALIGNED,
    "list of lists": GOOD.tolist(),
    "tuple of tuples": tuple(map(tuple, GOOD.tolist())),
    "pandas": pd.DataFrame(GOOD),
    "matrix": np.matrix(GOOD),
    "masked array without a mask": np.ma.masked_array(GOOD),
    "csr": sp.csr_matrix(GOOD),
    "csc": sp.csc_matrix(GOOD),
    "coo with duplicates": sp.coo_matrix((np.ones(4), ([0, 0, 1, 11], [1, 1, 0, 2])), (N, F)),
    "bsr": sp.bsr_matrix(GOOD),
    "csr with int64 indices": sp.csr_matrix(
        (np.ones(2), np.array([0, 2], np.int64), np.array([0, 1] + [2] * (N - 1), np.int64)), (N, F)
    ),
}


@pytest.mark.parametrize("case", FINE)
def test_features_of_any_kind_are_read_value_by_value(case: str) -> None:
    given = FINE[case]
    expect = given.toarray() if sp.issparse(given) else np.asarray(given, np.float64)
    read = made(given).x
    read = read.toarray() if sp.issparse(read) else read
    np.testing.assert_array_equal(read, expect.astype(np.float32))


BAD_FEATURES = {
    "complex": (GOOD + 1j, DataError, "complex"),
    "objects": (np.full((N, F), object()), DataError, "array of objects"),
    "strings": (np.full((N, F), "x"), DataError, "expected numbers"),
    "dates": (np.zeros((N, F), "datetime64[s]"), DataError, "expected numbers"),
    "structured": (np.zeros((N, F), [("a", "f4")]), DataError, "expected numbers"),
    "a number": (1.0, DataError, "expected \\[N, F\\]"),
    "one dimension": (GOOD[:, 0], DataError, "x\\[:, None\\]"),
    "three dimensions": (GOOD[None], DataError, "expected \\[N, F\\]"),
    "too few rows": (GOOD[:-1], DataError, "y: \\(12,\\) int64; expected 11 rows"),
    "no rows": (GOOD[:0], DataError, "but there are no nodes"),
    "no columns": (GOOD[:, :0], DataError, "0 columns"),
    "nothing": (None, UsageError, "x: None"),
    "NaN": (np.where(GOOD == 5, np.nan, GOOD), DataError, "node 1, feature 2 is NaN"),
    "infinity": (np.where(GOOD == 5, np.inf, GOOD), DataError, "node 1, feature 2 is inf"),
    "beyond float32": (np.where(GOOD == 5, 1e300, GOOD.astype(float)), DataError, "beyond the range of float32"),
    "NaN in a sparse matrix": (sp.csr_matrix(np.where(GOOD == 5, np.nan, GOOD)), DataError, "feature 2 is NaN"),
    "masked values": (np.ma.masked_array(GOOD, GOOD > 30), DataError, "are masked"),
    "ragged lists": ([[1, 2], [3]], DataError, "is no array"),
    "a dictionary": ({"a": 1}, DataError, "array of objects"),
    "a generator": ((i for i in range(3)), DataError, "array of objects"),
    "a type": (int, DataError, "array of objects"),
}


@pytest.mark.parametrize("case", BAD_FEATURES)
def test_features_that_cannot_be_used_are_refused(case: str) -> None:
    given, kind, text = BAD_FEATURES[case]
    with pytest.raises(kind, match=text):
        made(given)


class Evil:
    """An array that fails when it is read."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise MemoryError("too large")


BAD_PARTS = {
    "y too short": ({"y": Y[:-1]}, DataError, "expected 12 rows"),
    "y of floats": ({"y": Y + 0.5}, DataError, "y: row 0: class 0.5"),
    "y of text": ({"y": list("abababababab")}, DataError, "expected numbers"),
    "y below -1": ({"y": Y - 2}, DataError, "class -2"),
    "y with huge classes": ({"y": Y * 10**8}, DataError, "number the classes without gaps"),
    "y of three dimensions": ({"y": np.zeros((N, 2, 2))}, DataError, "expected 12 rows"),
    "labels that are no labels": ({"y": np.full((N, 2), 7)}, DataError, "expected 0 or 1"),
    "train without labels": ({"y": None}, DataError, "has no label"),
    "train out of range": ({"train": [99]}, DataError, "node 99"),
    "train negative": ({"train": [-1]}, DataError, "node -1"),
    "train twice": ({"train": [1, 1]}, DataError, "already in train"),
    "train and val": ({"val": [1]}, DataError, "already in train"),
    "mask of wrong length": ({"train": np.ones(5, bool)}, DataError, "one per node"),
    "mask of numbers": ({"train": np.ones(N, int)}, DataError, "a mask, or node ids"),
    "train of text": ({"train": "all"}, DataError, "expected numbers"),
    "an array that fails": ({"y": Evil()}, DataError, "too large"),
}


@pytest.mark.parametrize("case", BAD_PARTS)
def test_labels_and_splits_that_cannot_be_used_are_refused(case: str) -> None:
    options, kind, text = BAD_PARTS[case]
    with pytest.raises(kind, match=text):
        made(**options)


def test_wrong_types_are_type_errors(quick) -> None:
    data = made()
    model = train(quick, data).model
    for call in (
        lambda: train(3, data),
        lambda: train(quick, 3),
        lambda: train(quick, None),
        lambda: train(quick, data, callbacks=3),
        lambda: model.predict(3),
        lambda: model.embed(data, "last"),
        lambda: model.predict(data, threads="all"),
        lambda: iglu_gnn.load_dataset(3),
        lambda: iglu_gnn.load_model(None),
        lambda: Model(),
        lambda: Graph(),
        lambda: Dataset(),
        lambda: Config(3),
        lambda: data.with_split(3),
        lambda: data.save(3),
        lambda: Model.from_bytes("text"),
        lambda: made(copy="no"),
        lambda: made(name=3),
        lambda: Graph([[0, 1]], self_loops=3),
    ):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: model.embed(data, -1), lambda: model.predict(data, threads=-1)):
        with pytest.raises(OverflowError):
            call()
    with pytest.raises(DataError):
        Model.from_bytes(b"")
    with pytest.raises(UsageError):
        data.save("graph.txt")
    for name in ("no-file", "no\0file", "x" * 10_000, "synth:no-such-graph", ""):
        with pytest.raises((iglu_gnn.MissingError, UsageError)):
            iglu_gnn.load_dataset(name)


def test_graphs_that_say_too_much_take_no_memory() -> None:
    for n in (2**31, 2**32 - 1):
        with pytest.raises((DataError, UsageError, MemoryError)):
            Dataset(Graph._from_edges(np.zeros((0, 2), np.int64), 3, None, False, "drop"), np.zeros((0, n // 2**20)))


def test_tiny_data_trains(quick) -> None:
    for n in (1, 2, 3):
        trained = train(quick, Dataset(None, np.ones((n, 1)), np.zeros(n), train=np.arange(n)))
        assert predict(trained.model, Dataset(None, np.ones((n, 1)))).shape == (n, 1)


def test_an_array_may_be_overwritten_while_training_runs(village, quick) -> None:
    expect = train(quick, village.dataset()).model.to_bytes()
    X = village.X.copy()
    data = Dataset(village.edges, X, village.y, train=village.train, val=village.val, test=village.test)
    over = threading.Event()

    def spoil() -> None:
        while not over.is_set():
            X[:] = np.nan

    thread = threading.Thread(target=spoil)
    thread.start()
    try:
        assert train(quick, data).model.to_bytes() == expect
    finally:
        over.set()
        thread.join()


def test_a_callback_that_trains_and_a_generator_that_raises(village, quick) -> None:
    inner: list[object] = []
    train(quick, village.dataset(), callbacks=lambda _: inner.append(train(quick, village.dataset())))
    assert len(inner) == 2

    def numbers():
        yield 1
        raise LookupError("no more")

    source = numbers()
    with pytest.raises(LookupError, match="no more"):
        train(quick, village.dataset(), callbacks=lambda _: next(source) and None)


def test_create_and_drop_ten_thousand_times(village, quick) -> None:
    model = train(quick, village.dataset()).model
    data = model.to_bytes()

    def round_trip() -> None:
        for _ in range(250):
            Config(hidden=4)
            Graph([[0, 1], [1, 2]], 3)
            Model.from_bytes(data)
            made()

    round_trip()
    gc.collect()
    before = _resident()
    for _ in range(9):
        round_trip()
    gc.collect()
    assert _resident() - before < 8 << 20


def _resident() -> int:
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * 4096 if pages.exists() else 0


def _python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


def test_the_interpreter_may_end_while_a_thread_trains() -> None:
    ran = _python(
        """
import threading, time
import iglu_gnn
data = iglu_gnn.load_dataset("synth:village")
threading.Thread(target=lambda: iglu_gnn.train(iglu_gnn.Config(epochs=100000), data), daemon=True).start()
time.sleep(0.5)
print("over")
"""
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "over"), ran.stderr


def test_sub_interpreters_are_refused_or_work() -> None:
    ran = _python(
        """
try:
    import _interpreters as inner
except ImportError:
    import _xxsubinterpreters as inner
number = inner.create()
print(inner.run_string(number, "import iglu_gnn"))
"""
    )
    assert ran.returncode >= 0, f"ended by signal {-ran.returncode}"


def test_importing_takes_no_other_package() -> None:
    others = "'sklearn', 'scipy', 'pandas', 'networkx', 'torch', 'tqdm'"
    ran = _python(f"import sys, iglu_gnn; print([m for m in ({others}) if m in sys.modules])")
    assert ran.stdout.strip() == "[]"


def test_exceptions_have_the_kinds_people_catch() -> None:
    for kind, also in [
        (iglu_gnn.UsageError, ValueError),
        (iglu_gnn.DataError, ValueError),
        (iglu_gnn.MissingError, FileNotFoundError),
        (iglu_gnn.OutputError, OSError),
        (iglu_gnn.LockedError, OSError),
        (iglu_gnn.DivergedError, ArithmeticError),
        (iglu_gnn.MemoryLimitError, MemoryError),
        (iglu_gnn.InterruptedRun, RuntimeError),
        (iglu_gnn.BugError, RuntimeError),
    ]:
        assert issubclass(kind, iglu_gnn.IgluError) and issubclass(kind, also)
        assert str(kind("a: b\n  fix: c")) == "a: b\n  fix: c"
