"""Writes store_v1.iglu and store_v2.iglu of crates/iglu-data/tests/golden with Python's struct and zlib, from the format's
description alone (crates/iglu-data/src/formats/store.rs). The tests read them, and write the same bytes.

    python3 scripts/golden_store.py
"""

import json
import struct
import zlib
from pathlib import Path

ABOUT, OFFSETS, NEIGHBOURS, WEIGHTS, DENSE = 1, 2, 3, 4, 5
CLASSES, SPLITS, NODE_LETTERS, NODE_ENDS, CLASS_LETTERS, CLASS_ENDS = 9, 11, 12, 13, 14, 15
ORDER = 16


def padded(data):
    return data + bytes(-len(data) % 64)


def store(sections, version):
    start = len(padded(bytes(64 + 32 * len(sections))))
    table, body = b"", b""
    for kind, number, data in sections:
        place = start + len(body)
        table += struct.pack("<IIQQII", kind, number, place, len(data), zlib.crc32(padded(data)), 0)
        body += padded(data)
    table = table + bytes(start - 64 - len(table))
    head = struct.pack("<8sIIQI", b"\x89IGLU\r\n\x1a", version, len(sections), start + len(body), zlib.crc32(table))
    head += bytes(60 - len(head))
    return head + struct.pack("<I", zlib.crc32(head)) + table + body


def graph(directed, loops, edges, self_loops, duplicates):
    return dict(directed=directed, loops=loops, edges=edges, self_loops=self_loops, duplicates=duplicates)


about = dict(
    name="tiny", nodes=4, features=2, classes=3,
    graph=graph(False, False, 3, 1, 2),
    relations=[["sends", graph(True, False, 2, 0, 0)]],
    splits=[[2, 1, 1], [1, 0, 2]],
    notes=["made by hand"], source="golden_store.py", licence=None,
)
# Undirected 0-1 (0.5), 1-2 (1.5), 1-3 (2.0); directed 0 -> 2, 3 -> 2; node 3 has no class.
sections = [
    (ABOUT, 0, json.dumps(about, separators=(",", ":")).encode()),
    (OFFSETS, 0, struct.pack("<5Q", 0, 1, 4, 5, 6)),
    (NEIGHBOURS, 0, struct.pack("<6I", 1, 0, 2, 3, 1, 1)),
    (WEIGHTS, 0, struct.pack("<6f", 0.5, 0.5, 1.5, 2.0, 1.5, 2.0)),
    (OFFSETS, 1, struct.pack("<5Q", 0, 0, 0, 2, 2)),
    (NEIGHBOURS, 1, struct.pack("<2I", 0, 3)),
    (DENSE, 0, struct.pack("<8f", 0, -1, 0.25, 3, 4.5, 1e-3, 7, 1e9)),
    (CLASSES, 0, struct.pack("<4i", 0, 2, 1, -1)),
    (SPLITS, 0, struct.pack("<7I", 1, 0, 2, 3, 2, 0, 1)),
    (NODE_LETTERS, 0, "adaßgrace".encode()),
    (NODE_ENDS, 0, struct.pack("<4Q", 3, 5, 5, 10)),
    (CLASS_LETTERS, 0, b"redgreenblue"),
    (CLASS_ENDS, 0, struct.pack("<3Q", 3, 8, 12)),
]
# The same data with its nodes in the order 2, 0, 3, 1: node 0 has place 1, node 1 place 3, node 2 place 0, node 3 place 2.
ordered = [
    sections[0],
    (OFFSETS, 0, struct.pack("<5Q", 0, 1, 2, 3, 6)),
    (NEIGHBOURS, 0, struct.pack("<6I", 3, 3, 3, 0, 1, 2)),
    (WEIGHTS, 0, struct.pack("<6f", 1.5, 0.5, 2.0, 1.5, 0.5, 2.0)),
    (OFFSETS, 1, struct.pack("<5Q", 0, 2, 2, 2, 2)),
    (NEIGHBOURS, 1, struct.pack("<2I", 1, 2)),
    (DENSE, 0, struct.pack("<8f", 4.5, 1e-3, 0, -1, 7, 1e9, 0.25, 3)),
    (CLASSES, 0, struct.pack("<4i", 1, 0, -1, 2)),
    (SPLITS, 0, struct.pack("<7I", 3, 1, 0, 2, 0, 1, 3)),
    (NODE_LETTERS, 0, "adagraceß".encode()),
    (NODE_ENDS, 0, struct.pack("<4Q", 0, 3, 8, 10)),
    *sections[-2:],
    (ORDER, 0, struct.pack("<4I", 2, 0, 3, 1)),
]
golden = Path(__file__).parent.parent / "crates/iglu-data/tests/golden"
(golden / "store_v1.iglu").write_bytes(store(sections, 1))
(golden / "store_v2.iglu").write_bytes(store(ordered, 2))
