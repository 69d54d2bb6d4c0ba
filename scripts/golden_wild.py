#!/usr/bin/env python3
"""Writes tiny datasets in forms found in the wild to crates/iglu-data/tests/golden/wild: npz files after Shchur et al. and
Platonov et al., MATLAB files, MUSAE and Geom-GCN folders, tables as text and Parquet. expected.json holds what NumPy, SciPy
(loadmat), pandas, pyarrow and json read back from these files, put together as the code of each collection does it.
Run from anywhere; the files are the same every time.

    pip install numpy scipy pandas pyarrow
    python scripts/golden_wild.py
"""
import collections
import csv
import gzip
import json
import shutil
import struct
import zlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp

from golden_npz import OUT as GOLDEN
from golden_npz import adjacency, graph, save

OUT = GOLDEN / "wild"
N = 12
DATE = b"MATLAB 5.0 MAT-file, written by a script"


def folder(name):
    path = OUT / name
    path.mkdir(parents=True)
    return path


def duplicates(edges):
    """Repetitions of an edge in the direction in which it stands more often."""
    seen = collections.Counter((int(u), int(v)) for u, v in edges if u != v)
    pairs = {(min(e), max(e)) for e in seen}
    return sum(max(seen[(u, v)], seen[(v, u)]) - 1 for u, v in pairs)


def expected(n, edges, x, y, split=((), (), ()), weights=None, **more):
    """What a dataset should read as; `edges` are all entries of its file, `weights` those of its edges."""
    edges = np.asarray(edges, np.int64).reshape(-1, 2)
    a = adjacency(n, edges, weights, directed=False)
    x = structure(a) if x is None else np.asarray(x.todense() if sp.issparse(x) else x, np.float64)
    # The weights of an edge that stands there twice add up, in whichever direction.
    repeated = duplicates(edges) if weights is None else len(edges) - (edges[:, 0] == edges[:, 1]).sum() - a.nnz // 2
    return {
        "nodes": n, "directed": False, "edges": a.nnz // 2, "self_loops": int((edges[:, 0] == edges[:, 1]).sum()),
        "duplicates": int(repeated), "ax": (a @ np.arange(1, n + 1, dtype=np.float64)).tolist(),
        "x": x.ravel().tolist(), "cols": x.shape[1], "y": [int(v) for v in y],
        **{k: [int(i) for i in ids] for k, ids in zip(["train", "val", "test"], split)}, **more,
    }


def structure(a):
    """Features where there are none: 1, log(1 + degree), one column per node."""
    degree = np.diff(a.indptr)
    return np.concatenate([np.ones((len(degree), 1)), np.log1p(degree)[:, None], np.eye(len(degree))], 1)


def some_split(rng, n=N):
    order = rng.permutation(n)
    return [np.sort(order[: n // 2]), np.sort(order[n // 2: 3 * n // 4]), np.sort(order[3 * n // 4:])]


# --- npz -------------------------------------------------------------------------------------------------------------
def parts(prefix, m):
    return {prefix + k: v for k, v in dict(data=m.data, indices=m.indices, indptr=m.indptr, shape=m.shape).items()}


def entries(m):
    m = m.tocoo()
    return np.stack([m.row, m.col], 1)


def shchur(out):
    rng = np.random.default_rng(2)
    (OUT / "shchur").mkdir()
    names, classes = np.array([f"paper {i}" for i in range(N)]), np.array(["AI", "Bücher", "Z"])
    edges = graph(rng, N, 20)
    a = sp.csr_matrix((np.ones(len(edges), np.float32), edges.T), (N, N))
    a.data[:] = 1
    x = sp.random(N, 7, 0.3, "csr", np.float32, rng)
    y = rng.integers(0, 3, N)
    save("wild/shchur/one_way.npz", dict(**parts("adj_", a), **parts("attr_", x), labels=y.astype(np.int8),
                                         node_names=names, class_names=classes), compressed=True)
    out["shchur/one_way.npz"] = expected(N, entries(a), x, y, names=names.tolist(), classes=classes.tolist(), notes=1)

    w = sp.random(N, N, 0.2, "csr", np.float32, rng)
    w = (w + w.T).tocsr()
    dense = rng.standard_normal((N, 3)).astype(np.float32)
    save("wild/shchur/weighted.npz", dict(**parts("adj_matrix.", w), attr_matrix=dense, labels=y,
                                          class_names=np.array([b"x", b"yy", b"z"])))
    upper = sp.triu(w).tocoo()
    out["shchur/weighted.npz"] = expected(N, np.stack([upper.row, upper.col], 1), dense, y, weights=upper.data,
                                          classes=["x", "yy", "z"], notes=0)

    both = ((a + a.T) > 0).astype(np.float32).tocsr()
    both.setdiag(0)
    both.eliminate_zeros()
    save("wild/shchur/bare.npz", dict(**parts("adj_", both), labels=y))
    out["shchur/bare.npz"] = expected(N, entries(both), None, y, notes=1)


def yandex(out):
    rng = np.random.default_rng(3)
    (OUT / "yandex").mkdir()
    edges, x, y = graph(rng, N, 18), rng.standard_normal((N, 4)).astype(np.float32), rng.integers(0, 2, N)
    splits = [some_split(rng) for _ in range(3)]
    mask = lambda part: np.array([np.isin(np.arange(N), split[part]) for split in splits])
    save("wild/yandex/toy.npz", dict(node_features=x, node_labels=y, edges=edges, train_masks=mask(0), val_masks=mask(1),
                                     test_masks=mask(2)), compressed=True)
    # The plain reader counts an edge in both directions as a repetition.
    out["yandex/toy.npz?split=2"] = expected(N, edges, x, y, splits[2], notes=0) | {"duplicates": 1}


# --- MATLAB ----------------------------------------------------------------------------------------------------------
CLASS = {"f8": 6, "f4": 7, "i1": 8, "u1": 9, "i2": 10, "u2": 11, "i4": 12, "u4": 13, "i8": 14, "u8": 15}
TYPE = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 9, "i8": 12, "u8": 13}


class MatWriter:
    """Writes what scipy.io.savemat does not: big-endian files, short elements, numbers in a smaller type."""

    def __init__(self, order):
        self.order, self.body = order, b""

    def element(self, kind, data):
        if 0 < len(data) <= 4:
            return struct.pack(self.order + "I", len(data) << 16 | kind) + data.ljust(4, b"\0")
        return struct.pack(self.order + "II", kind, len(data)) + data + b"\0" * (-len(data) % 8)

    def numbers(self, a, stored=None):
        a = np.asarray(a)
        code = (stored or a.dtype.str[1:])
        return self.element(TYPE[code], a.astype(self.order + code).tobytes("F"))

    def add(self, name, dims, kind, *values, packed=False):
        head = self.element(6, struct.pack(self.order + "II", kind, 0)) + self.element(5, struct.pack(
            f"{self.order}{len(dims)}i", *dims)) + self.element(1, name.encode())
        body = head + b"".join(values)
        whole = struct.pack(self.order + "II", 14, len(body)) + body
        if packed:
            stream = zlib.compress(whole)
            whole = struct.pack(self.order + "II", 15, len(stream)) + stream
        self.body += whole

    def write(self, path):
        mark = b"IM" if self.order == "<" else b"MI"
        path.write_bytes(DATE.ljust(116) + bytes(8) + struct.pack(self.order + "H", 0x0100) + mark + self.body)


def fixed_date(path):
    """savemat writes the time into the header: replaced, so that running again changes nothing."""
    bytes_ = path.read_bytes()
    path.write_bytes(DATE.ljust(116) + bytes_[116:])


def read_facebook(path):
    """As the code of Lim et al. (LINKX) does; a column for each value, also where there are only two."""
    m = scipy.io.loadmat(path)
    a, info = m["A"], m["local_info"].astype(int)
    x = np.concatenate([info[:, [c]] == np.unique(info[:, c]) for c in range(info.shape[1]) if c != 1], 1)
    return expected(a.shape[0], entries(sp.csr_matrix(a)), x, info[:, 1] - 1, notes=0)


def matlab(out):
    rng = np.random.default_rng(4)
    path = folder("matlab")
    edges = graph(rng, N, 20)[:-2]
    a = sp.csc_matrix((np.ones(len(edges)), edges.T), (N, N))
    a = (a + a.T).tocsc()
    info = rng.integers(0, 4, (N, 7)).astype(np.uint16)
    info[:, 1] = rng.integers(0, 3, N)
    info[:, 5] += 2000
    for name, packed in [("packed.mat", True), ("unpacked.mat", False)]:
        more = dict(note="hello", cell=np.array([1, "a"], object), z=np.array([1 + 2j]))
        scipy.io.savemat(path / name, dict(A=a, local_info=info, **more), do_compression=packed)
        fixed_date(path / name)
        out[f"matlab/{name}"] = read_facebook(path / name)
    big = MatWriter(">")
    # Room for more entries than there are, as MATLAB may leave it.
    rows = np.concatenate([a.indices, [0, 0]]).astype("i4")
    values = np.concatenate([a.data, [0, 0]])
    big.add("A", a.shape, 5, big.numbers(rows), big.numbers(a.indptr.astype("i4")), big.numbers(values), packed=True)
    big.add("local_info", info.shape, 6, big.numbers(info, "u2"))
    big.write(path / "big_endian.mat")
    out["matlab/big_endian.mat"] = read_facebook(path / "big_endian.mat")

    arrays = {}
    for order in "<>":
        w = MatWriter(order)
        for code, kind in CLASS.items():
            values = (np.arange(6).reshape(2, 3) * 3 - (0 if code[0] == "u" else 4)).astype(code)
            w.add("v_" + code, values.shape, kind, w.numbers(values), packed=code < "i")
        w.add("small", (2, 3), 6, w.numbers(np.arange(6).reshape(2, 3), "u1"))
        w.add("one", (1, 1), 6, w.numbers(np.array([[7]]), "i1"))
        w.add("none", (0, 3), 6, w.numbers(np.zeros((0, 3)), "f8"))
        name = "types_little.mat" if order == "<" else "types_big.mat"
        w.write(path / name)
        read = scipy.io.loadmat(path / name)
        arrays[name] = {k: {"shape": list(v.shape), "values": np.asarray(v, np.float64).ravel().tolist()}
                        for k, v in read.items() if not k.startswith("__")}
    return arrays


# --- MUSAE -----------------------------------------------------------------------------------------------------------
def musae(out):
    rng = np.random.default_rng(5)
    lists = {str(i): [int(f) for f in rng.permutation(9)[: rng.integers(0, 5)]] for i in rng.permutation(N)}
    x = np.zeros((N, 1 + max(f for fs in lists.values() for f in fs)))
    for node, features in lists.items():
        x[int(node), features] = 1
    edges = graph(rng, N, 20)

    path = folder("musae/pages")
    kinds = rng.choice(["tvshow", "company", "politician"], N)
    names = [f'page "{i}", the\u00e9' if i % 3 == 0 else f"page {i}" for i in range(N)]
    pd.DataFrame(edges, columns=["id_1", "id_2"]).to_csv(path / "pages_edges.csv", index=False)
    pd.DataFrame(dict(id=range(N), facebook_id=rng.integers(1, 1 << 60, N), page_name=names, page_type=kinds)).to_csv(
        path / "pages_target.csv", index=False, lineterminator="\r\n")
    (path / "pages.json").write_text(json.dumps(lists))
    rows = list(csv.DictReader(open(path / "pages_target.csv", encoding="utf-8", newline="")))
    classes = sorted({row["page_type"] for row in rows})
    out["musae/pages"] = expected(N, edges, x, [classes.index(row["page_type"]) for row in rows],
                                  names=[row["page_name"] for row in rows], classes=classes, notes=1)
    out["musae/pages/pages_target.csv"] = out["musae/pages"]

    # As Twitch: ids in the last column, in any order, one row twice, two nodes without features.
    path = folder("musae/streams")
    order = rng.permutation(N)
    mature = rng.integers(0, 2, N).astype(bool)
    rows = [[int(rng.integers(1e8)), int(rng.integers(2000)), bool(mature[i]), int(rng.integers(9999)), False, int(i)]
            for i in order]
    pd.DataFrame(rows + [rows[3][:2] + [not rows[3][2]] + rows[3][3:]],
                 columns=["id", "days", "mature", "views", "partner", "new_id"]).to_csv(path / "streams_target.csv",
                                                                                       index=False)
    pd.DataFrame(edges[:-1], columns=["from", "to"]).to_csv(path / "streams_edges.csv", index=False)
    few = {k: v for k, v in lists.items() if k not in ("2", "5")}
    (path / "streams_features.json").write_text(json.dumps(few))
    y = x.copy()
    y[[2, 5]] = 0
    out["musae/streams"] = expected(N, edges[:-1], y, mature.astype(int), classes=["False", "True"], notes=2)


# --- Geom-GCN --------------------------------------------------------------------------------------------------------
def geom_gcn(out):
    rng = np.random.default_rng(6)
    edges = graph(rng, N, 15)
    y = np.arange(N) % 3
    splits = [some_split(rng) for _ in range(2)]
    for name, film in [("words", False), ("film", True)]:
        path = folder(f"geom_gcn/{name}")
        x = (rng.random((N, 932 if film else 11)) < (0.01 if film else 0.2)).astype(int)
        x[:, -1] = 0
        x[0, :3] = 1
        x[x.sum(1) == 0, 1] = 1
        with open(path / "out1_node_feature_label.txt", "w") as f:
            f.write("node_id\tfeature\tlabel\n")
            for i in rng.permutation(N):
                row = np.nonzero(x[i])[0] if film else x[i]
                f.write(f"{i}\t{','.join(map(str, row))}\t{y[i]}\n")
        with open(path / "out1_graph_edges.txt", "w") as f:
            f.write("node_id\tnode_id\n" + "".join(f"{u}\t{v}\n" for u, v in edges))
        where = path if film else OUT / "geom_gcn" / "splits"
        where.mkdir(exist_ok=True)
        for k, split in enumerate(splits):
            masks = {part + "_mask": np.isin(np.arange(N), ids).astype(np.uint8 if film else bool)
                     for part, ids in zip(["train", "val", "test"], split)}
            save(str((where / f"{name}_split_0.6_0.2_{k}.npz").relative_to(GOLDEN)), masks)
        out[f"geom_gcn/{name}?split=1"] = expected(N, edges, x, y, splits[1], notes=1)


# --- Tables ----------------------------------------------------------------------------------------------------------
def tables(out):
    rng = np.random.default_rng(7)
    ids = [f"n{i:02}" for i in rng.permutation(N)]
    edges = graph(rng, N, 20)
    x = rng.standard_normal((N, 3)).round(4)
    labels = rng.choice(["red", "green", "blue"], N).astype(object)
    split = some_split(rng)
    part = np.empty(N, object)
    for word, nodes in zip(["train", "valid", "test"], split):
        part[nodes] = word
    labels[split[2][0]] = None
    kinds = rng.choice(["cites", "likes"], len(edges))
    weights = rng.random(len(edges)).round(3)
    nodes = pd.DataFrame({"id": ids, "title": [f'a "title", {i}\nin two lines' for i in range(N)], "f0": x[:, 0], "label":
                          labels, "f1": x[:, 1], "split": part, "f2": x[:, 2]})
    name = np.array(ids)
    links = pd.DataFrame({"source": name[edges[:, 0]], "target": name[edges[:, 1]], "type": kinds, "weight": weights,
                          "timestamp": rng.integers(0, 1 << 40, len(edges))})

    def read(nodes, links, notes):
        place = {id: i for i, id in enumerate(nodes["id"])}
        ends = np.stack([links["source"].map(place), links["target"].map(place)], 1)
        classes = sorted(nodes["label"].dropna().unique())
        y = [classes.index(v) if isinstance(v, str) else -1 for v in nodes["label"]]
        parts = [np.nonzero(nodes["split"] == w)[0] for w in ["train", "valid", "test"]]
        count = {k: int(adjacency(N, ends[links["type"] == k], None, False).nnz // 2) for k in sorted(set(links["type"]))}
        return expected(N, ends, nodes[["f0", "f1", "f2"]].to_numpy(), y, parts, links["weight"].to_numpy(),
                        names=list(nodes["id"]), classes=classes, relations=count, notes=notes)

    path = folder("tables/quoted")
    nodes.to_csv(path / "nodes.csv", index=False, encoding="utf-8-sig", lineterminator="\r\n")
    with open(path / "edges.tsv.gz", "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
        z.write(links.to_csv(index=False, sep="\t").encode())
    again = pd.read_csv(path / "nodes.csv"), pd.read_csv(path / "edges.tsv.gz", sep="\t")
    out["tables/quoted"] = read(*again, notes=2)
    out["tables/quoted/edges.tsv.gz"] = out["tables/quoted"]

    # Parquet: text, floats of two widths, nulls, several row groups, dictionaries.
    path = folder("tables/columns")
    nodes["f1"] = nodes["f1"].astype(np.float32)
    pq.write_table(pa.Table.from_pandas(nodes, preserve_index=False), path / "nodes.parquet", row_group_size=5)
    pq.write_table(pa.Table.from_pandas(links, preserve_index=False), path / "edges.parquet", compression="none",
                   use_dictionary=False)
    out["tables/columns"] = read(pd.read_parquet(path / "nodes.parquet"), pd.read_parquet(path / "edges.parquet"), notes=2)

    # Numbers as ids, not in order and with gaps; blanks between fields; comments; a table of splits.
    path = folder("tables/plain")
    numbers = np.sort(rng.permutation(100)[:N])[rng.permutation(N)]
    with open(path / "toy_edges.txt", "w") as f:
        f.write("# made up\n% by hand\n" + "".join(f"{numbers[u]}  {numbers[v]}\n" for u, v in edges))
    y = rng.integers(1, 4, N)
    frame = pd.DataFrame({"Node_ID": numbers, "Class": y, "deg": [float(v) for v in range(N)], "ok": y > 1})
    frame.to_csv(path / "toy_nodes.tsv", index=False, sep=";")
    two = [some_split(rng), some_split(rng)]
    words = np.empty((2, N), object)
    for k in range(2):
        for word, members in zip(["train", "val", "test"], two[k]):
            words[k, members] = word
    pd.DataFrame({"id": numbers, "split_0": words[0], "split_1": words[1]}).to_csv(path / "toy_splits.csv", index=False)
    frame = pd.read_csv(path / "toy_nodes.tsv", sep=";")
    ends = np.loadtxt(path / "toy_edges.txt", comments=["#", "%"], dtype=int)
    place = {id: i for i, id in enumerate(frame["Node_ID"])}
    ends = np.vectorize(place.get)(ends)
    out["tables/plain/toy_edges.txt?split=1"] = expected(
        N, ends, frame[["deg", "ok"]].to_numpy(np.float64), frame["Class"] - 1, two[1],
        names=[str(v) for v in frame["Node_ID"]], classes=["1", "2", "3"], notes=1)

    # Whole numbers of several types, unsigned ones too, and truth values.
    path = folder("tables/typed")
    table = pa.table({"id": pa.array(range(N), pa.uint32()), "label": pa.array(rng.integers(0, 3, N), pa.int8()),
                      "flag": pa.array(rng.integers(0, 2, N).astype(bool)), "half": pa.array(range(N), pa.uint64()),
                      "train_mask": np.isin(range(N), split[0]), "val_mask": np.isin(range(N), split[1]),
                      "test_mask": np.isin(range(N), split[2])})
    pq.write_table(table, path / "nodes.parquet", data_page_version="2.0")
    pq.write_table(pa.table({"src": edges[:, 0].astype(np.int32), "dst": edges[:, 1]}), path / "edges.parquet")
    frame, links = pd.read_parquet(path / "nodes.parquet"), pd.read_parquet(path / "edges.parquet")
    out["tables/typed"] = expected(N, links.to_numpy(), frame[["flag", "half"]].to_numpy(np.float64), frame["label"], split,
                                   notes=1)


def bad_tables():
    """Parquet files that are refused, and good ones for the tests to damage."""
    path = folder("tables/bad")
    ends = {"source": pa.array([0, 1, 2]), "target": pa.array([1, 2, 3])}
    plain = dict(use_dictionary=False, compression="none")
    pq.write_table(pa.table(ends), path / "good.parquet", **plain)
    pq.write_table(pa.table({k: pa.array([str(v) for v in values.to_pylist()]) for k, values in ends.items()}),
                   path / "dictionary.parquet", compression="none")
    pq.write_table(pa.table({**ends, "list": pa.array([[1], [2], []])}), path / "nested.parquet", **plain)
    pq.write_table(pa.table({**ends, "pair": pa.array([{"a": 1}, {"a": 2}, None])}), path / "pair.parquet", **plain)
    pq.write_table(pa.table({**ends, "source": pa.array([0, None, 2])}), path / "null.parquet", **plain)
    pq.write_table(pa.table({**ends, "source": pa.array([0, 1, 2], pa.decimal128(30))}), path / "decimal.parquet", **plain)
    pq.write_table(pa.table({**ends, "source": pa.array([0, 1, 2**64 - 1], pa.uint64())}), path / "unsigned.parquet", **plain)
    pq.write_table(pa.table(ends), path / "gzip.parquet", compression="gzip")
    pq.write_table(pa.table(ends), path / "delta.parquet", use_dictionary=False, compression="none",
                   column_encoding={"source": "DELTA_BINARY_PACKED"})


if __name__ == "__main__":
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    golden = {}
    shchur(golden)
    yandex(golden)
    arrays = matlab(golden)
    musae(golden)
    geom_gcn(golden)
    tables(golden)
    bad_tables()
    text = json.dumps({"datasets": golden, "arrays": arrays}, indent=1).replace("\n    ", " ")
    (OUT / "expected.json").write_text(text + "\n")
