#!/usr/bin/env python3
"""Writes the tiny .npy and .npz files of crates/iglu-data/tests/golden and, in expected.json, what NumPy and
SciPy read from them. Run from anywhere; the files are the same every time.

    python scripts/golden_npz.py
"""
import io
import json
import pathlib
import zipfile

import numpy as np
import scipy.sparse as sp

OUT = pathlib.Path(__file__).resolve().parent.parent / "crates" / "iglu-data" / "tests" / "golden"
DTYPES = ["?", "<i1", "<i2", "<i4", "<i8", "<u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8",
          ">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f2", ">f4", ">f8"]


def save(name, arrays, compressed=False):
    """np.savez with fixed dates, so that running the script again changes nothing."""
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(OUT / name, "w", kind) as z:
        for key, value in arrays.items():
            body = io.BytesIO()
            np.lib.format.write_array(body, np.asanyarray(value), allow_pickle=False)
            z.writestr(zipfile.ZipInfo(key + ".npy", (1980, 1, 1, 0, 0, 0)), body.getvalue(), kind)


def values_of(dtype):
    """A 3 x 4 array with the extremes of the type where float64 holds them."""
    a = np.arange(12).reshape(3, 4) % 7
    if dtype == "?":
        return a % 2 == 1
    a = a.astype(dtype)
    if a.dtype.kind == "f":
        a = a * a.dtype.type(1.25) - a.dtype.type(2)
        a[0, 0] = np.finfo(a.dtype).max if a.dtype.itemsize < 8 else 1e30
        a[1, 1] = np.finfo(a.dtype).smallest_subnormal if a.dtype.itemsize == 2 else 0.1
    else:
        info = np.iinfo(a.dtype)
        a[0, 0] = min(info.max, 2**53)
        a[1, 1] = max(info.min, -(2**53))
    return a.astype(dtype)


def dtypes():
    arrays = {}
    for d in DTYPES:
        name = {"<": "le_", ">": "be_", "?": "bool"}[d[0]] + d[1:]
        arrays[name] = values_of(d)
        arrays[name + "_fortran"] = np.asfortranarray(values_of(d))
    arrays["scalar"] = np.float32(2.5)
    arrays["empty"] = np.zeros((0, 3), np.int64)
    save("dtypes.npz", arrays)
    save("dtypes_compressed.npz", arrays, compressed=True)
    return {k: {"shape": list(np.shape(v)), "values": np.asarray(v, np.float64).ravel().tolist()} for k, v in arrays.items()}


def versions():
    a = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
    for version in [(1, 0), (2, 0), (3, 0)]:
        with open(OUT / f"version{version[0]}.npy", "wb") as f:
            np.lib.format.write_array(f, a, version=version)


def graph(rng, n, e):
    """e different undirected edges, one self loop, one repeated edge."""
    u, v = np.triu_indices(n, 1)
    pick = rng.permutation(len(u))[:e]
    edges = np.stack([u[pick], v[pick]], 1)
    return np.concatenate([edges, [[3, 3]], edges[:1, ::-1]])


def adjacency(n, edges, weights, directed):
    """A[v, u] = weight of u -> v, without self loops; unweighted repetitions count once."""
    w = np.ones(len(edges)) if weights is None else weights
    keep = edges[:, 0] != edges[:, 1]
    e, w = edges[keep], w[keep]
    if not directed:
        e, w = np.concatenate([e, e[:, ::-1]]), np.concatenate([w, w])
    a = sp.coo_matrix((w, (e[:, 1], e[:, 0])), (n, n)).tocsr()
    a.sum_duplicates()
    if weights is None:
        a.data[:] = 1
    return a


def expected(n, edges, x, y, split, weights=None, directed=False):
    a = adjacency(n, edges, weights, directed)
    x = np.asarray(x.todense() if sp.issparse(x) else x, np.float64)
    probe = np.arange(1, n + 1, dtype=np.float64)
    return {
        "nodes": n, "directed": directed, "edges": a.nnz if directed else a.nnz // 2,
        "self_loops": 1, "duplicates": 1, "ax": (a @ probe).tolist(), "x": x.ravel().tolist(), "cols": x.shape[1],
        "y": np.nan_to_num(np.asarray(y, np.float64), nan=-1).ravel().astype(int).tolist(),
        "train": [int(i) for i in split[0]], "val": [int(i) for i in split[1]], "test": [int(i) for i in split[2]],
    }


def datasets():
    rng = np.random.default_rng(0)
    n, out = 12, {}
    edges = graph(rng, n, 20)
    order = rng.permutation(n)
    split = [np.sort(order[:6]), np.sort(order[6:9]), np.sort(order[9:])]
    ids = dict(zip(["train", "val", "test"], split))
    mask = lambda ids: np.isin(np.arange(n), ids)
    x = rng.standard_normal((n, 3)).astype(np.float32)
    y = rng.integers(0, 3, n)
    y[split[2][0]] = -1

    save("dense.npz", dict(edges=edges, x=x, y=y, note=np.arange(3), **ids), compressed=True)
    out["dense.npz"] = expected(n, edges, x, y, split)

    odd = dict(edges=np.asfortranarray(edges.astype(">u2")), x=np.asfortranarray(x.astype(">f8")),
               y=y.astype(np.float64), **{k: mask(v) for k, v in ids.items()})
    save("odd_types.npz", odd)
    out["odd_types.npz"] = expected(n, edges, x, y, split)

    # Columns out of order and one repeated: the file holds what a hand-made csr_matrix may hold.
    s = sp.random(n, 40, 0.2, "csr", np.float32, np.random.default_rng(1))
    data, cols, ptr = list(s.data), list(s.indices), s.indptr.copy()
    row = int(np.argmax(np.diff(ptr) >= 2))
    b, e = ptr[row], ptr[row + 1]
    data[b:e], cols[b:e] = data[b:e][::-1], cols[b:e][::-1]
    data.insert(e, np.float32(0.5)); cols.insert(e, cols[b]); ptr[row + 1:] += 1
    parts = dict(x_data=np.array(data, np.float32), x_indices=np.array(cols, np.int32), x_indptr=ptr, x_shape=[n, 40])
    s = sp.csr_matrix((parts["x_data"], parts["x_indices"], ptr), (n, 40))
    multi = rng.integers(0, 2, (n, 5)).astype(np.float32)
    multi[0, 1], multi[1, 2] = np.nan, -1
    save("sparse_multi.npz", dict(edges=edges, y=multi, **parts, **ids), compressed=True)
    out["sparse_multi.npz"] = expected(n, edges, s, multi, split)

    weights = rng.random(len(edges)).astype(np.float32)
    masks = {k + "_masks": np.stack([mask([0]), mask(v)]) for k, v in ids.items()}
    save("masks_directed.npz", dict(edges=edges, edge_weight=weights, directed=1, x=(x * 10).astype(np.int8), y=y, **masks))
    # With direction the turned edge is no repetition.
    out["masks_directed.npz"] = expected(n, edges, (x * 10).astype(np.int8), y, split, weights, True) | {"duplicates": 0}
    return out


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    golden = {"arrays": dtypes(), "datasets": datasets()}
    versions()
    (OUT / "expected.json").write_text(json.dumps(golden, indent=1).replace("\n    ", " ") + "\n")
