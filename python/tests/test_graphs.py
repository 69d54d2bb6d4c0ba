"""Every way to say who is connected to whom gives the graph of the definition."""

from __future__ import annotations

import types

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from iglu_gnn import DataError, Dataset, Graph, UsageError

# 0 - 1 - 2 - 3 with a chord 0 - 2, and a node alone.
PAIRS = np.array([[0, 1], [1, 2], [2, 3], [0, 2]])
N = 5


def dense(graph: Graph) -> np.ndarray:
    """The matrix whose row v has the weights of the nodes that send to v."""
    offsets, senders, weights = graph.rows()
    data = np.ones(len(senders)) if weights is None else weights
    n = graph.n_nodes
    return sp.csr_matrix((data, senders.astype(np.int64), offsets.astype(np.int64)), (n, n)).toarray()


def adjacency(pairs: np.ndarray, weights: np.ndarray | None = None, n: int = N) -> np.ndarray:
    """Entry (u, v) for each pair (u, v)."""
    matrix = np.zeros((n, n))
    np.add.at(matrix, (pairs[:, 0], pairs[:, 1]), 1.0 if weights is None else weights)
    return matrix


ONE_WAY = adjacency(PAIRS)
BOTH_WAYS = ONE_WAY + ONE_WAY.T
MIRRORED = np.concatenate([PAIRS, PAIRS[:, ::-1]])


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.float64])
@pytest.mark.parametrize("layout", ["E2", "2E", "fortran", "list", "mirrored", "strided"])
def test_lists_of_edges_are_undirected(dtype: type, layout: str) -> None:
    pairs = PAIRS.astype(dtype)
    # Five edges, so that [2, E] cannot be mistaken.
    pairs = np.concatenate([pairs, pairs[:1]])
    given = {
        "E2": pairs,
        "2E": np.ascontiguousarray(pairs.T),
        "fortran": np.asfortranarray(pairs),
        "list": pairs.tolist(),
        "mirrored": np.concatenate([pairs, pairs[:, ::-1]]),
        "strided": np.repeat(pairs, 2, axis=0)[::2],
    }[layout]
    graph = Graph(given, N)
    assert not graph.directed and not graph.weighted and graph.n_edges == 4
    np.testing.assert_array_equal(dense(graph), BOTH_WAYS)


def test_directed_lists_send_one_way() -> None:
    np.testing.assert_array_equal(dense(Graph(PAIRS, N, directed=True)), ONE_WAY.T)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_symmetric_matrices_are_undirected(form: str, index: type) -> None:
    matrix = sp.coo_matrix(BOTH_WAYS).asformat(form)
    if hasattr(matrix, "indices"):
        matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    graph = Graph(matrix)
    assert not graph.directed and graph.n_edges == 4
    np.testing.assert_array_equal(dense(graph), BOTH_WAYS)


def test_other_matrices_are_directed_from_row_to_column() -> None:
    matrix = sp.csr_array(ONE_WAY)
    assert Graph(matrix).directed
    np.testing.assert_array_equal(dense(Graph(matrix)), ONE_WAY.T)
    np.testing.assert_array_equal(dense(Graph(matrix, directed=False)), BOTH_WAYS)
    np.testing.assert_array_equal(dense(Graph(sp.csr_array(BOTH_WAYS), directed=True)), BOTH_WAYS)


def test_values_of_a_matrix_are_weights() -> None:
    weights = np.array([2.0, 1.0, 0.5, 3.0])
    one_way = adjacency(PAIRS, weights)
    graph = Graph(sp.csr_matrix(one_way + one_way.T))
    assert graph.weighted and not graph.directed
    np.testing.assert_array_equal(dense(graph), one_way + one_way.T)
    np.testing.assert_array_equal(dense(Graph(sp.csc_matrix(one_way))), one_way.T)


def test_unsorted_repeated_and_zero_entries_of_a_matrix() -> None:
    # Row 0 holds (0, 2) twice and (0, 1) in the wrong order, row 1 an explicit zero.
    matrix = sp.csr_matrix((np.array([1.0, 2.0, 1.0, 0.0]), np.array([2, 1, 2, 0]), np.array([0, 3, 4, 4])), (3, 3))
    expect = np.array([[0, 2, 2], [0, 0, 0], [0, 0, 0]], float)
    np.testing.assert_array_equal(dense(Graph(matrix)), expect.T)


def test_weights_of_edges_listed_from_both_sides_count_once() -> None:
    weights = np.array([2.0, 1.0, 0.5, 3.0])
    both = adjacency(PAIRS, weights) + adjacency(PAIRS, weights).T
    np.testing.assert_array_equal(dense(Graph(PAIRS, N, weights=weights)), both)
    np.testing.assert_array_equal(dense(Graph(MIRRORED, N, weights=np.tile(weights, 2))), both)


def test_self_loops_are_dropped_kept_or_refused() -> None:
    looped = np.concatenate([PAIRS, [[3, 3]]])
    matrix = sp.csr_matrix(BOTH_WAYS + np.diag([0, 0, 0, 1, 0]))
    for source in (looped, matrix):
        np.testing.assert_array_equal(dense(Graph(source, N)), BOTH_WAYS)
        assert dense(Graph(source, N, self_loops="keep"))[3, 3] == 1
        with pytest.raises(DataError, match="node 3 is connected to itself"):
            Graph(source, N, self_loops="error")
        with pytest.raises(UsageError, match="drop, keep, error"):
            Graph(source, N, self_loops="maybe")


def test_networkx_graphs_are_what_they_say() -> None:
    source = nx.Graph()
    source.add_nodes_from("edcba")
    source.add_edge("e", "d", weight=2.0)
    source.add_edge("d", "c")
    expect = np.zeros((5, 5))
    expect[0, 1] = expect[1, 0] = 2.0
    expect[1, 2] = expect[2, 1] = 1.0
    np.testing.assert_array_equal(dense(Graph(source)), expect)
    club = nx.karate_club_graph()
    np.testing.assert_array_equal(dense(Graph(club)), nx.to_numpy_array(club, weight="weight"))
    one_way = nx.DiGraph([(0, 1), (2, 1)])
    np.testing.assert_array_equal(dense(Graph(one_way)), nx.to_numpy_array(one_way).T)
    with pytest.raises(DataError, match="no attribute `colour`"):
        Graph(source, weights="colour")
    with pytest.raises(DataError, match="5 nodes; expected 4"):
        Graph(source, 4)


def test_tables_have_source_target_and_weight() -> None:
    table = pd.DataFrame({"from": PAIRS[:, 0], "to": PAIRS[:, 1]})
    np.testing.assert_array_equal(dense(Graph(table, N)), BOTH_WAYS)
    table["w"] = [2.0, 1.0, 0.5, 3.0]
    expect = adjacency(PAIRS, table["w"].to_numpy())
    np.testing.assert_array_equal(dense(Graph(table, N)), expect + expect.T)
    np.testing.assert_array_equal(dense(Graph(table, N, weights="w", directed=True)), expect.T)
    with pytest.raises(UsageError, match="no column `v`"):
        Graph(table, N, weights="v")


class Tensor:
    """What counts of a torch tensor: the array protocol, and the refusal to be read while it needs a gradient."""

    def __init__(self, values: object, needs_gradient: bool = False) -> None:
        self.values, self.needs_gradient = np.asarray(values), needs_gradient

    def detach(self) -> Tensor:
        return Tensor(self.values)

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> np.ndarray:
        return self.values

    def is_contiguous(self) -> bool:
        return True

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        if self.needs_gradient:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return self.values


def test_objects_of_pyg_bring_all_they_have() -> None:
    mask = np.arange(N) < 2
    data = types.SimpleNamespace(
        edge_index=Tensor(MIRRORED.T),
        edge_weight=None,
        num_nodes=N,
        x=Tensor(np.eye(N, dtype=np.float32), needs_gradient=True),
        y=Tensor([0, 1, 0, 1, 0]),
        train_mask=Tensor(mask),
        val_mask=Tensor(~mask),
        test_mask=Tensor(np.zeros(N, bool)),
    )
    np.testing.assert_array_equal(dense(Graph(data)), BOTH_WAYS)
    assert not Graph(data).directed
    whole = Dataset(data)
    assert (whole.n_nodes, whole.n_classes, whole.train.tolist(), whole.val.tolist()) == (N, 2, [0, 1], [2, 3, 4])
    data.edge_index = Tensor(PAIRS.T)
    assert Graph(data).directed
    np.testing.assert_array_equal(dense(Graph(data)), ONE_WAY.T)


def test_graphs_of_dgl_are_read_through_their_edges() -> None:
    weights = np.arange(1.0, 5.0)
    graph = types.SimpleNamespace(
        num_nodes=lambda: N, edges=lambda: (Tensor(PAIRS[:, 0]), Tensor(PAIRS[:, 1])), edata={"w": Tensor(weights)}
    )
    np.testing.assert_array_equal(dense(Graph(graph)), ONE_WAY.T)
    np.testing.assert_array_equal(dense(Graph(graph, weights="w")), adjacency(PAIRS, weights).T)


def test_datasets_of_dgl_bring_all_they_have() -> None:
    mask = np.arange(N) < 2
    ndata = {"feat": Tensor(np.eye(N)), "label": Tensor([0, 1, 0, 1, 0]), "train_mask": Tensor(mask)}
    graph = types.SimpleNamespace(
        num_nodes=lambda: N, edges=lambda: (Tensor(MIRRORED[:, 0]), Tensor(MIRRORED[:, 1])), ndata=ndata
    )
    whole = Dataset(graph, val=[3])
    assert (whole.n_features, whole.n_classes, whole.train.tolist(), whole.val.tolist()) == (N, 2, [], [3])
    assert Dataset(graph).train.tolist() == [0, 1] and not whole.graph.directed
    del ndata["feat"]
    with pytest.raises(UsageError, match="x: None"):
        Dataset(graph)


def test_two_edges_of_a_tensor_are_an_edge_index() -> None:
    # [[0, 1], [1, 2]] is 0-1, 1-2 either way; [[0, 0], [1, 2]] is not.
    expect = adjacency(np.array([[0, 1], [0, 2], [1, 0], [2, 0]]), n=3)
    np.testing.assert_array_equal(dense(Graph(Tensor([[0, 0], [1, 2]]), 3)), expect)
    np.testing.assert_array_equal(dense(Graph(np.array([[0, 1], [0, 2]]), 3)), expect)


def test_no_edges_at_all() -> None:
    for nothing in ([], np.zeros((0, 2)), np.zeros((2, 0), int), None):
        graph = Graph(nothing, 3)
        assert (graph.n_nodes, graph.n_edges) == (3, 0)
    assert Graph([]).n_nodes == 0


@pytest.mark.parametrize(
    ("edges", "n", "options", "kind", "text"),
    [
        ([[0, 5]], 5, {}, DataError, "edges: row 0: target 5, but there are 5 nodes"),
        ([[0, -1]], 5, {}, DataError, "edges: row 0: target -1"),
        ([[0, 1.5]], 5, {}, DataError, "edges: row 0: target 1.5"),
        ([[1, 2], [2, 3]], 3, {}, DataError, "the ids seem to start at 1"),
        ([[0, 2**40]], 5, {}, DataError, "target 1099511627776"),
        ([[0, 1, 2]], 5, {}, DataError, "expected \\[E, 2\\]"),
        ([0, 1], 5, {}, DataError, "expected \\[E, 2\\]"),
        (7, 5, {}, DataError, "expected \\[E, 2\\]"),
        ("edges", 5, {}, DataError, "expected numbers"),
        ([["a", "b"]], 5, {}, DataError, "expected numbers"),
        ([[0, 1], [1]], 5, {}, DataError, "is no array"),
        (object(), 5, {}, DataError, "array of objects"),
        ([[0, 1]], -1, {}, UsageError, "n_nodes: -1"),
        ([[0, 1]], 2.5, {}, UsageError, "n_nodes: 2.5"),
        ([[0, 1]], 2**40, {}, UsageError, "n_nodes: 1099511627776"),
        ([[0, 1]], 5, {"weights": [1, 2]}, DataError, "expected 1 weights"),
        ([[0, 1]], 5, {"weights": [-1]}, DataError, "weight -1"),
        ([[0, 1]], 5, {"weights": [np.nan]}, DataError, "weight NaN"),
        (sp.csr_matrix((3, 4)), None, {}, DataError, "expected as many columns as rows"),
        (sp.csr_matrix((3, 3)), 4, {}, DataError, "3 nodes; expected 4"),
        (sp.csr_matrix(-np.ones((2, 2))), None, {"self_loops": "keep"}, DataError, "weight -1"),
    ],
)
def test_bad_graphs_are_refused_with_their_place(
    edges: object, n: object, options: dict, kind: type, text: str
) -> None:
    with pytest.raises(kind, match=text):
        Graph(edges, n, **options)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_damaged_matrix_is_refused(form: str) -> None:
    matrix = sp.csr_matrix(BOTH_WAYS).asformat(form)
    matrix.indices[0] = 4711
    with pytest.raises(DataError, match="node 4711, but `shape` has 5 nodes"):
        Graph(matrix)
