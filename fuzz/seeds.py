#!/usr/bin/env python3
"""Lays out `corpus/TARGET` from the golden files of the tests.

Usage: seeds.py [MODEL.safetensors], run in this folder. A model to start from is made by
`iglu train synth:village@0.05 --hidden 4 --epochs 1 --out RUN`; it is RUN/best.safetensors.
"""

import pathlib
import struct
import sys
import zipfile

GOLDEN = pathlib.Path("../crates/iglu-data/tests/golden")
LARGEST = 8 << 10

# Target: patterns of golden files, and bytes put before them.
FILES = {
    "npy": [("*.npy", b""), ("folders/**/*.npy", b"")],
    "npz": [("*.npz", b""), ("folders/**/*.npz", b""), ("wild/**/*.npz", b"")],
    "pickle": [("folders/planetoid/*", b"")],
    "mat": [("wild/matlab/*.mat", b"")],
    "node_link": [("folders/**/*-G.json", b""), ("folders/ppi/*_graph.json", b"")],
    "class_map": [("folders/**/*class_map.json", b"")],
    "table": [("wild/tables/**/*nodes.[ct]*", b"\0"), ("wild/tables/**/*edges.[ct]*", b"\1"), ("wild/tables/**/*edges.[ct]*", b"\2")],
    "parquet": [("wild/tables/**/*.parquet", b"")],
    "lines": [("folders/ogb_proteins/**/*.csv", b""), ("wild/geom_gcn/**/*.txt", b"")],
    "geom_gcn": [("wild/geom_gcn/**/*label.txt", b"")],
    "gz": [("folders/**/*.gz", b""), ("wild/**/*.gz", b"")],
    "store": [("*.iglu", b"")],
}
# Target: patterns of archives to be taken apart, and bytes put before them.
ARRAYS = {
    "npz_arrays": [("*.npz", b"\0"), ("wild/shchur/*.npz", b"\1"), ("wild/yandex/*.npz", b"\2")],
    "scipy_npz": [("folders/**/adj*.npz", b""), ("folders/**/*_adj.npz", b"")],
}


def framed(path):
    """The arrays of an archive as `framed` in src/lib.rs takes them."""
    out = b""
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            name, array = member.removesuffix(".npy").encode(), archive.read(member)
            out += struct.pack("<B", len(name)) + name + struct.pack("<H", min(len(array), 65535)) + array
    return out


def put(target, seed):
    if len(seed) > LARGEST:
        return
    folder = pathlib.Path("corpus") / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{len(list(folder.glob('seed-*'))):03}").write_bytes(seed)


for target, patterns in FILES.items():
    for pattern, prefix in patterns:
        for path in sorted(GOLDEN.glob(pattern)):
            if path.is_file():
                put(target, prefix + path.read_bytes())
for target, patterns in ARRAYS.items():
    for pattern, prefix in patterns:
        for path in sorted(GOLDEN.glob(pattern)):
            put(target, prefix + framed(path))
for path in sys.argv[1:]:
    put("model", pathlib.Path(path).read_bytes())
