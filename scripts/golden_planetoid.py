#!/usr/bin/env python3
"""Prints the numbers by which crates/iglu-data/tests/golden_folders.rs knows the real Planetoid datasets: counts, sums
and checksums of what torch_geometric, pickle and SciPy read from them.

    python scripts/golden_planetoid.py ../shared/data/planetoid
"""
import pathlib
import pickle
import sys
import zlib

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.io import read_planetoid_data


def crc(*columns):
    """Of little-endian 32-bit numbers, row by row."""
    rows = np.stack([np.ascontiguousarray(c).view(np.uint32) for c in columns], 1)
    return zlib.crc32(rows.astype("<u4").tobytes())


def numbers(folder, name):
    data = read_planetoid_data(str(folder), name)
    x = sp.csr_matrix(data.x.to_dense().numpy())
    x.eliminate_zeros()
    row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)).astype(np.uint32)
    u, v = data.edge_index.numpy().astype(np.uint32)
    pairs = np.unique(np.stack([np.minimum(u, v), np.maximum(u, v)], 1)[u != v], axis=0)
    # torch_geometric gives nodes without a row the class 0; they have none.
    part = lambda p: pickle.load(open(folder / f"ind.{name}.{p}", "rb"), encoding="latin1")
    test = np.loadtxt(folder / f"ind.{name}.test.index", dtype=np.int64)
    y = np.full(data.num_nodes, -1, np.int32)
    labelled = np.concatenate([np.arange(part("allx").shape[0]), test])
    y[labelled] = data.y.numpy()[labelled]
    masks = [m.nonzero().ravel().numpy() for m in [data.train_mask, data.val_mask, data.test_mask]]
    split = np.concatenate(masks).astype(np.uint32)
    assert data.x.dtype == torch.float32
    return (name, data.num_nodes, len(pairs), x.shape[1], data.y.max().item() + 1, int((y < 0).sum()), x.nnz,
            float(x.data.astype(np.float64).sum()), crc(row, x.indices, x.data), crc(y), crc(pairs[:, 0], pairs[:, 1]),
            [len(m) for m in masks], crc(split))


if __name__ == "__main__":
    for name in ["cora", "citeseer", "pubmed"]:
        print(*numbers(pathlib.Path(sys.argv[1]) / name, name), sep=", ")
