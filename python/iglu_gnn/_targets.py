"""What `fit` is told beside the features: rows, classes, weights and a seed, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _convert
from .errors import DataError, UsageError


def seed(state: Any) -> int:
    if state is None:
        return 0
    if isinstance(state, np.random.RandomState):
        return int(state.randint(2**31 - 1))
    if isinstance(state, np.random.Generator):
        return int(state.integers(2**31 - 1))
    try:
        seed = int(state.__index__())
    except (AttributeError, TypeError):
        raise UsageError(f"random_state: {state!r}; expected a whole number of at least 0, or None") from None
    if not 0 <= seed < 2**63:
        raise UsageError(f"random_state: {seed}; expected 0 to 2**63 - 1")
    return seed


def class_weights(weights: Any, classes: np.ndarray) -> dict[str, Any]:
    if isinstance(weights, str):
        if weights != "balanced":
            raise UsageError(f"class_weight: `{weights}`; expected \"balanced\" or a dictionary")
        return {"loss.balanced": True}
    try:
        return {"loss.class_weights": [float(weights.get(name, 1.0)) for name in classes.tolist()]}
    except (AttributeError, TypeError, ValueError):
        raise UsageError(f"class_weight: {weights!r}; expected \"balanced\" or a dictionary") from None


def rows(key: str, given: Any, n: int) -> np.ndarray:
    """Row ids from ids or a mask."""
    if given is None:
        return np.zeros(0, np.int64)
    array = _convert.numbers(key, given)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind == "b":
        if array.shape != (n,):
            raise DataError(f"{key}: mask of shape {array.shape}; expected {n} entries, one per row")
        return np.flatnonzero(array)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise DataError(f"{key}: {array.dtype} of shape {array.shape}; expected row ids or a mask of dtype bool")
    if array.min() < 0 or array.max() >= n:
        bad = int(np.flatnonzero((array < 0) | (array >= n))[0])
        raise DataError(f"{key}: entry {bad}: row {array[bad]}, but there are {n} rows (0..{n - 1})")
    return array.astype(np.int64)


def ids(X: Any, n: int) -> np.ndarray:
    """Node ids where a dataset holds the features."""
    array = _convert.numbers("X", X)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"X: {array.dtype} of shape {array.shape}; expected ids of nodes, as graph is a Dataset with the features"
        )
    return rows("X", array, n)


def encoded(y: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Class numbers (-1 where unknown) or 0/1 labels, and the classes."""
    if len(known) == 0:
        raise DataError("train: no training row\n  fix: give at least one row with its label")
    if y.ndim == 2:
        table = _convert.numbers("y", y)
        labels = np.full(table.shape, -1, np.int64)
        labels[known] = _whole("y", table[known])
        return labels, np.arange(table.shape[1])
    if y.dtype.kind == "f" and not np.isfinite(y[known].astype(np.float64)).all():
        raise DataError("Input y contains NaN or infinity\n  fix: leave such rows out of train")
    classes, ids = np.unique(y[known], return_inverse=True)
    labels = np.full((len(y),), -1, np.int64)
    labels[known] = ids.reshape(-1)
    return labels, classes


def _whole(name: str, table: np.ndarray) -> np.ndarray:
    whole = table.astype(np.int64) if np.isfinite(table.astype(np.float64)).all() else None
    if whole is None or not np.array_equal(whole, table) or not np.isin(whole, (0, 1)).all():
        raise DataError(f"{name}: a table with values other than 0 and 1\n  fix: give one 0/1 column per label")
    return whole
