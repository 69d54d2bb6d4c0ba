#!/usr/bin/env python3
"""Writes tiny datasets in the forms of the research world to crates/iglu-data/tests/golden/folders, each with the writer
of its own form, and in expected.json what other people's readers make of them: SciPy and pickle (Planetoid, IGLU's
scripts), ogb, networkx (GraphSAGE), torch_geometric (GraphSAINT, PPI). Run from anywhere; the files are the same every time.

    pip install numpy scipy networkx torch torch_geometric pandas ogb
    python scripts/golden_folders.py
"""
import collections
import gzip
import json
import pathlib
import pickle
import shutil
import tempfile

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch
from ogb.io.read_graph_raw import read_binary_graph_raw, read_csv_graph_raw
from torch_geometric.datasets import PPI, Flickr
from torch_geometric.utils import scatter

from golden_npz import OUT as GOLDEN
from golden_npz import adjacency, graph

OUT = GOLDEN / "folders"
N = 12


def duplicates(edges):
    """Repetitions of an edge in the direction in which it stands more often."""
    seen = collections.Counter((int(u), int(v)) for u, v in edges if u != v)
    pairs = {(min(e), max(e)) for e in seen}
    return sum(max(seen[(u, v)], seen[(v, u)]) - 1 for u, v in pairs)


def expected(n, edges, x, y, split, **more):
    """What a dataset should read as; `edges` are all entries of its file."""
    edges = np.asarray(edges).reshape(-1, 2)
    a = adjacency(n, edges, None, directed=False)
    x = np.asarray(x.todense() if sp.issparse(x) else x, np.float64)
    y = np.nan_to_num(np.asarray(y, np.float64), nan=-1)
    return {
        "nodes": n, "directed": False, "edges": a.nnz // 2, "self_loops": int((edges[:, 0] == edges[:, 1]).sum()),
        "duplicates": duplicates(edges), "ax": (a @ np.arange(1, n + 1, dtype=np.float64)).tolist(),
        "x": x.ravel().tolist(), "cols": x.shape[1], "y": y.ravel().astype(int).tolist(),
        **{k: [int(i) for i in ids] for k, ids in zip(["train", "val", "test"], split)}, **more,
    }


def both_ways(edges):
    return np.concatenate([edges, edges[:, ::-1]])


def folder(name):
    path = OUT / name
    path.mkdir(parents=True)
    return path


def write_json(path, value):
    path.write_text(json.dumps(value) + "\n")


def some_split(rng, n=N):
    order = rng.permutation(n)
    return [np.sort(order[: n // 2]), np.sort(order[n // 2: 3 * n // 4]), np.sort(order[3 * n // 4:])]


# --- Planetoid -------------------------------------------------------------------------------------------------------
PARTS = ["x", "y", "tx", "ty", "allx", "ally", "graph"]


def read_planetoid(path, name):
    """As the GCN code of Kipf and Welling reads it, but for the number of validation nodes."""
    x, y, tx, ty, allx, ally, lists = (
        pickle.load(open(path / f"ind.{name}.{part}", "rb"), encoding="latin1") for part in PARTS)
    test = np.loadtxt(path / f"ind.{name}.test.index", dtype=int)
    n = len(lists)
    features, labels = sp.lil_matrix((n, allx.shape[1])), np.full(n, -1)
    features[: allx.shape[0]], labels[: allx.shape[0]] = allx, ally.argmax(1)
    features[test], labels[test] = tx, ty.argmax(1)
    edges = [[int(u), int(v)] for u, list in lists.items() for v in list]
    split = [range(len(y)), range(len(y), min(len(y) + 500, allx.shape[0])), test]
    return expected(n, edges, features.tocsr(), labels, split, notes=1)


def planetoid(out):
    rng = np.random.default_rng(2)
    path = folder("planetoid")
    known, classes = 8, 3
    test = np.array([10, 8, 11])  # node 9 stands in the graph only
    for name, shift in [("mixed", 0), ("turned", 3)]:
        x = sp.random(N, 6, 0.4, "csr", np.float32, np.random.default_rng(3))
        y = np.eye(classes, dtype=np.int32)[rng.integers(0, classes, N)]
        number = (lambda i: np.int64(i)) if shift else int
        lists = collections.defaultdict(list, {number(v): [] for v in range(N)})
        for u, v in both_ways(graph(rng, N, 14)):
            lists[number(u)].append(number(v))
        if shift:
            lists[number(0)].append(number(11))  # one way only, if it is new
        y = np.asfortranarray(y) if shift else y
        values = [x[:4], y[:4], x[test], y[test], x[:known], y[:known], dict(lists) if shift else lists]
        for at, (part, value) in enumerate(zip(PARTS, values)):
            with open(path / f"ind.{name}.{part}", "wb") as f:
                pickle.dump(value, f, protocol=(at + shift) % 6)
        np.savetxt(path / f"ind.{name}.test.index", test, fmt="%d")
        out[f"planetoid/ind.{name}.x"] = read_planetoid(path, name)
    out["planetoid/ind.turned.x"]["notes"] = 2


# --- OGB -------------------------------------------------------------------------------------------------------------
def write_csv(path, rows, packed):
    text = "\n".join(",".join("" if v != v else repr(v) for v in np.atleast_1d(row).tolist()) for row in rows) + "\n"
    if packed:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text)


def ogb(out):
    rng = np.random.default_rng(4)
    edges, split = graph(rng, N, 18), some_split(rng)
    x = rng.standard_normal((N, 5))
    y = rng.integers(0, 4, N).astype(float)
    y[split[2][0]] = np.nan

    path = folder("ogb_citation")
    (path / "raw").mkdir()
    (path / "split" / "time").mkdir(parents=True)
    tables = {"edge": edges, "node-feat": x, "node-label": y[:, None], "node_year": 2000 + np.arange(N)[:, None],
              "num-node-list": [[N]], "num-edge-list": [[len(edges)]]}
    for stem, rows in tables.items():
        write_csv(path / "raw" / f"{stem}.csv", rows, packed=True)
    for stem, ids in zip(["train", "valid", "test"], split):
        write_csv(path / "split" / "time" / f"{stem}.csv", ids[:, None], packed=True)
    # An empty field alone on a line is an empty line to pandas, and to us.
    label = path / "raw" / "node-label.csv.gz"
    text = gzip.decompress(label.read_bytes()).decode().replace("\n\n", "\nnan\n")
    label.write_bytes(gzip.compress(text.encode(), mtime=0))
    read = read_csv_graph_raw(str(path / "raw"), additional_node_files=["node_year"])[0]
    out["ogb_citation"] = expected(read["num_nodes"], read["edge_index"].T, read["node_feat"], y, split, notes=1)

    path = folder("ogb_proteins")
    (path / "raw").mkdir()
    (path / "split" / "species").mkdir(parents=True)
    edge_feat, labels = rng.random((len(edges), 3)).round(3), rng.integers(0, 2, (N, 4)).astype(float)
    labels[1, 2] = np.nan
    tables = {"edge": edges, "edge-feat": edge_feat, "node-label": labels, "node_species": np.arange(N)[:, None],
              "num-node-list": [[N]], "num-edge-list": [[len(edges)]]}
    for stem, rows in tables.items():
        write_csv(path / "raw" / f"{stem}.csv", rows, packed=False)
    for stem, ids in zip(["train", "valid", "test"], split):
        write_csv(path / "split" / "species" / f"{stem}.csv", ids[:, None], packed=False)
    with tempfile.TemporaryDirectory() as packed:  # ogb itself reads packed tables only
        for file in (path / "raw").iterdir():
            (pathlib.Path(packed) / (file.name + ".gz")).write_bytes(gzip.compress(file.read_bytes()))
        read = read_csv_graph_raw(packed, add_inverse_edge=True)[0]
    for how in ["mean", "sum"]:
        # As in ogb's example for proteins: features of incoming edges, every edge having its inverse.
        feat, target = torch.from_numpy(read["edge_feat"]).double(), torch.from_numpy(read["edge_index"][0])
        own = scatter(feat, target, dim=0, dim_size=N, reduce=how).numpy()
        key = "ogb_proteins" + ("" if how == "mean" else "?sum")
        out[key] = expected(read["num_nodes"], edges, own, labels, split, notes=1)

    path = folder("ogb_binary")
    (path / "raw").mkdir()
    (path / "split" / "time").mkdir(parents=True)
    mirrored = both_ways(edges)
    np.savez(path / "raw" / "data.npz", edge_index=mirrored.T, node_feat=x.astype(np.float32),
             node_year=np.arange(N)[:, None], num_nodes_list=np.array([N]), num_edges_list=np.array([len(mirrored)]))
    np.savez(path / "raw" / "node-label.npz", node_label=y[:, None].astype(np.float32))
    for stem, ids in zip(["train", "valid", "test"], split):
        np.save(path / "split" / "time" / f"{stem}.npy", ids)
    read = read_binary_graph_raw(str(path / "raw"))[0]
    out["ogb_binary"] = expected(int(read["num_nodes"]), read["edge_index"].T, read["node_feat"], y, split, notes=1)


# --- GraphSAINT ------------------------------------------------------------------------------------------------------
def graphsaint(out):
    rng = np.random.default_rng(5)
    edges, split = graph(rng, N, 16), some_split(rng)
    full = adjacency(N, edges, None, directed=False).astype(bool)
    train = np.isin(np.arange(N), split[0])
    x = rng.standard_normal((N, 4))
    role = {k: [int(i) for i in ids] for k, ids in zip(["tr", "va", "te"], split)}
    y, multi = rng.integers(0, 3, N), rng.integers(0, 2, (N, 5))
    for name, matrix, labels in [("graphsaint", full, y), ("graphsaint_multi", full.tocoo(), multi)]:
        path = folder(name)
        sp.save_npz(path / "adj_full.npz", matrix)
        sp.save_npz(path / "adj_train.npz", sp.csr_matrix(full.multiply(np.outer(train, train))))
        np.save(path / "feats.npy", x)
        write_json(path / "class_map.json", {str(v): labels[v].tolist() for v in range(N)})
        write_json(path / "role.json", role)
    with tempfile.TemporaryDirectory() as root:
        shutil.copytree(OUT / "graphsaint", f"{root}/raw")
        read = Flickr(root)[0]
    masks = [np.flatnonzero(m.numpy()) for m in [read.train_mask, read.val_mask, read.test_mask]]
    out["graphsaint"] = expected(N, read.edge_index.T.numpy(), read.x, read.y, masks, notes=0)
    again = sp.load_npz(OUT / "graphsaint_multi" / "adj_full.npz").tocoo()
    out["graphsaint_multi"] = expected(N, np.stack([again.row, again.col], 1), read.x, multi, split, notes=0)


# --- GraphSAGE -------------------------------------------------------------------------------------------------------
def graphsage(out):
    rng = np.random.default_rng(6)
    edges, split = graph(rng, N, 16)[:-1], some_split(rng)
    role = {int(v): part for part, ids in zip(["train", "val", "test"], split) for v in ids}
    x, y = rng.standard_normal((N, 4)).astype(np.float32), rng.integers(0, 2, (N, 3))
    row_of = rng.permutation(N)
    g = nx.Graph()
    for v in range(N):
        g.add_node(f"t3_{v}", val=role[v] == "val", test=role[v] == "test", feature=[0.5, float(v)])
    g.add_edges_from((f"t3_{u}", f"t3_{v}") for u, v in edges)

    path = folder("graphsage")
    write_json(path / "toy-G.json", nx.node_link_data(g, edges="links"))
    write_json(path / "toy-id_map.json", {f"t3_{v}": int(row_of[v]) for v in range(N)})
    write_json(path / "toy-class_map.json", {f"t3_{v}": y[v].tolist() for v in range(N)})
    np.save(path / "toy-feats.npy", x)
    read = nx.node_link_graph(json.loads((path / "toy-G.json").read_text()), edges="links")
    rows = json.loads((path / "toy-id_map.json").read_text())
    ends = [[rows[u], rows[v]] for u, v in read.edges]
    classes = json.loads((path / "toy-class_map.json").read_text())
    labels = [classes[i] for i in sorted(rows, key=rows.get)]
    parts = [sorted(rows[v] for v, d in read.nodes(data=True) if (d["val"], d["test"]) == flags)
             for flags in [(False, False), (True, False), (False, True)]]
    out["graphsage"] = expected(N, ends, x, labels, parts, notes=0, names=sorted(rows, key=rows.get))

    # networkx 1 wrote the positions of nodes into links, and GraphSAGE can do without features.
    path = folder("graphsage_positions")
    data = nx.node_link_data(g, edges="links")
    at = {node["id"]: i for i, node in enumerate(data["nodes"])}
    data["links"] = [{"source": at[link["source"]], "target": at[link["target"]]} for link in data["links"]]
    write_json(path / "old-G.json", data)
    write_json(path / "old-class_map.json", {f"t3_{v}": int(y[v, 0]) for v in range(N)})
    out["graphsage_positions/old-G.json"] = expected(N, [[at[u], at[v]] for u, v in read.edges], np.eye(N), y[:, 0], split,
                                                     notes=1, names=[f"t3_{v}" for v in range(N)])


# --- IGLU's scripts --------------------------------------------------------------------------------------------------
def authors(out):
    rng = np.random.default_rng(7)
    edges, split = graph(rng, N, 16), some_split(rng)
    full = adjacency(N, edges, None, directed=False)
    x, y = rng.standard_normal((N, 4)), rng.integers(0, 3, N)
    multi = rng.integers(0, 2, (N, 3)).astype(np.float64)
    forms = [("authors_ppi", "full_adj.npz", "feat_preprocessed.npy", multi, multi),
             ("authors_flickr", "adj_full.npz", "feats.npy", np.eye(3)[y], y)]
    for name, matrix, feats, labels, expect in forms:
        path = folder(name)
        sp.save_npz(path / matrix, full if name == "authors_ppi" else full.tocsc())
        np.save(path / "labels.npy", labels)
        np.save(path / feats, x)
        for stem, ids in zip(["Train", "Valid", "Test"], split):
            np.save(path / f"{stem}SortedIndex.npy", ids)
        read = sp.load_npz(path / matrix).tocoo()
        out[name] = expected(N, np.stack([read.row, read.col], 1), np.load(path / feats), expect, split, notes=0)


# --- PPI -------------------------------------------------------------------------------------------------------------
def ppi(out):
    rng = np.random.default_rng(8)
    path = folder("ppi")
    first = 1
    for part, n in [("train", 10), ("valid", 5), ("test", 6)]:
        # Two proteins: nodes below n // 2, and the rest. Both directions of each edge, and a loop at each node.
        g = nx.DiGraph()
        g.add_nodes_from(range(n))
        for low, high in [(0, n // 2), (n // 2, n)]:
            g.add_edges_from((v, v) for v in range(low, high))
            for v in range(low + 1, high):
                u = int(rng.integers(low, v))
                g.add_edges_from([(u, v), (v, u)])
        write_json(path / f"{part}_graph.json", nx.node_link_data(g, edges="links"))
        np.save(path / f"{part}_feats.npy", rng.standard_normal((n, 4)))
        np.save(path / f"{part}_labels.npy", rng.integers(0, 2, (n, 3)))
        np.save(path / f"{part}_graph_id.npy", np.repeat([first, first + 1], [n // 2, n - n // 2]))
        first += 2
    edges, x, y, split, base = [], [], [], [], 0
    with tempfile.TemporaryDirectory() as root:
        shutil.copytree(path, f"{root}/raw")
        for part in ["train", "val", "test"]:
            start = base
            for data in PPI(root, part):
                edges.append(data.edge_index.T.numpy() + base)
                x.append(data.x.numpy())
                y.append(data.y.numpy())
                base += data.num_nodes
            split.append(range(start, base))
    read = expected(base, np.concatenate(edges), np.concatenate(x), np.concatenate(y), split, notes=0)
    out["ppi"] = read | {"self_loops": base}  # PyG drops them


if __name__ == "__main__":
    shutil.rmtree(OUT, ignore_errors=True)
    golden = {}
    for write in [planetoid, ogb, graphsaint, graphsage, authors, ppi]:
        write(golden)
    (OUT / "expected.json").write_text(json.dumps(golden, indent=1).replace("\n   ", " ") + "\n")
