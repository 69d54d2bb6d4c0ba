"""What people have in memory, as the arrays that the native half takes. Nothing is imported that was not given."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._native import Dataset, Graph
from .errors import DataError, UsageError

_NUMBERS = "biuf"


def numbers(name: str, values: Any) -> np.ndarray:
    """An array of numbers in native byte order; torch tensors and tables come through their array protocol."""
    if is_sparse(values):
        values = values.toarray()
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            count = int(np.ma.count_masked(values))
            raise DataError(f"{name}: {count} values are masked\n  fix: fill them first: {name}.filled(0)")
        values = values.data
    # A tensor that needs a gradient or lies on another device says itself what to do with it.
    detach = getattr(values, "detach", None)
    if callable(detach):
        values = detach().cpu()
    try:
        array = np.asarray(values)
    except DataError:
        raise
    except Exception as e:
        raise DataError(f"{name}: {_kind(values)} is no array: {e}\n  fix: give an array of numbers") from e
    if array.dtype == object and array.size:
        array = _from_objects(name, array)
    if array.dtype.kind not in _NUMBERS:
        raise DataError(f"{name}: array of type {array.dtype}; expected numbers\n  fix: give an array of numbers")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _from_objects(name: str, array: np.ndarray) -> np.ndarray:
    """Numbers that an array holds as objects."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as e:
        raise DataError(f"{name}: array of objects: {e}\n  fix: give an array of numbers") from e


def is_sparse(values: Any) -> bool:
    """Whether this is a matrix of SciPy's; nobody has one who has not imported SciPy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(values)


def _kind(values: Any) -> str:
    return f"an object of type {type(values).__name__}"


def _count(name: str, value: Any) -> int:
    try:
        whole = int(value.__index__())
    except (AttributeError, TypeError):
        raise UsageError(f"{name}: {value!r}; expected a whole number") from None
    if not 0 <= whole <= 2**32 - 1:
        raise UsageError(f"{name}: {whole}; expected 0 to {2**32 - 1}")
    return whole


def as_graph(
    edges: Any,
    n_nodes: int | None = None,
    *,
    weights: Any = None,
    directed: bool | None = None,
    self_loops: str = "drop",
) -> Graph:
    """A graph from whatever says who is connected to whom."""
    if isinstance(edges, Graph):
        return _checked(edges, n_nodes)
    if edges is None:
        return _listed(np.zeros((0, 2), np.int64), _count("n_nodes", n_nodes or 0), None, False, self_loops)
    if is_sparse(edges):
        return _from_matrix(edges, n_nodes, weights, directed, self_loops)
    if hasattr(edges, "adjacency") and hasattr(edges, "is_directed") and hasattr(edges, "nodes"):
        return _from_networkx(edges, n_nodes, weights, directed, self_loops)
    if hasattr(edges, "edge_index"):
        return _from_pyg(edges, n_nodes, weights, directed, self_loops)
    if hasattr(edges, "num_nodes") and callable(getattr(edges, "edges", None)):
        return _from_dgl(edges, n_nodes, weights, directed, self_loops)
    if hasattr(edges, "columns") and hasattr(edges, "iloc"):
        edges, weights = _from_table(edges, weights)
    pairs = _pairs(edges)
    count = _highest(pairs) if n_nodes is None else _count("n_nodes", n_nodes)
    return _listed(pairs, count, weights, bool(directed), self_loops)


def _checked(made: Graph, n_nodes: int | None) -> Graph:
    if n_nodes is not None and made.n_nodes != n_nodes:
        raise DataError(f"graph: {made.n_nodes} nodes; expected {n_nodes}\n  fix: give every node one row")
    return made


def _listed(pairs: np.ndarray, count: int, weights: Any, directed: bool, self_loops: str) -> Graph:
    weights = None if weights is None else numbers("edge_weight", weights)
    return Graph._from_edges(pairs, count, weights, directed, self_loops)


def _pairs(edges: Any) -> np.ndarray:
    """Pairs [E, 2]; two rows of another number of columns are turned."""
    array = numbers("edges", edges)
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim == 2 and array.shape[0] == 2 and array.shape[1] != 2:
        array = array.T
    elif array.ndim == 2 and array.shape == (2, 2) and getattr(edges, "is_contiguous", None) is not None:
        # Two edges: a tensor is an edge_index, [2, E]; anything else is read as [E, 2].
        array = array.T
    return np.ascontiguousarray(array)


def _highest(pairs: np.ndarray) -> int:
    if pairs.ndim != 2 or pairs.size == 0 or pairs.dtype.kind == "b":
        return 0
    highest = pairs.max()
    return int(highest) + 1 if 0 <= highest < 2**32 - 1 else 0


def _from_matrix(matrix: Any, n_nodes: int | None, weights: Any, directed: bool | None, self_loops: str) -> Graph:
    if weights is not None:
        raise UsageError("weights: given beside a matrix\n  fix: the values of the matrix are the weights")
    if matrix.ndim != 2:
        raise DataError(f"graph: {matrix.ndim} dimensions; expected a matrix")
    by_columns = matrix.format == "csc"
    if not by_columns and matrix.format != "csr":
        matrix = matrix.tocsr()
    return _checked(Graph._from_matrix(_parts("graph", matrix), by_columns, directed, self_loops), n_nodes)


def _parts(name: str, matrix: Any) -> tuple[np.ndarray, ...]:
    """Shape, indptr, indices and data; those of compressed columns are the rows of the transpose."""
    shape = np.array(matrix.shape[::-1] if matrix.format == "csc" else matrix.shape, np.int64)
    return shape, numbers(name, matrix.indptr), numbers(name, matrix.indices), numbers(name, matrix.data)


def _from_networkx(source: Any, n_nodes: int | None, weights: Any, directed: bool | None, self_loops: str) -> Graph:
    """Nodes are numbered in the order of the graph; `weights` names an attribute of edges."""
    order = {node: i for i, node in enumerate(source.nodes)}
    count = len(order) if n_nodes is None else _count("n_nodes", n_nodes)
    if count != len(order):
        raise DataError(f"graph: {len(order)} nodes; expected {count}\n  fix: give every node one row")
    found = list(source.edges(data=weights if isinstance(weights, str) else "weight"))
    pairs = np.array([(order[u], order[v]) for u, v, _ in found], np.int64).reshape(-1, 2)
    values = [value for _, _, value in found]
    if isinstance(weights, str) and any(value is None for value in values):
        raise DataError(f"graph: an edge has no attribute `{weights}`\n  fix: give every edge one")
    known = [1.0 if value is None else value for value in values]
    listed = known if any(value is not None for value in values) else None
    if weights is not None and not isinstance(weights, str):
        listed = weights
    directed = source.is_directed() if directed is None else directed
    return _listed(pairs, count, listed, directed, self_loops)


def _from_pyg(source: Any, n_nodes: int | None, weights: Any, directed: bool | None, self_loops: str) -> Graph:
    """An object with `edge_index` [2, E], and perhaps `edge_weight`."""
    index = numbers("edge_index", source.edge_index)
    if index.ndim != 2 or index.shape[0] != 2:
        raise DataError(f"edge_index: shape {index.shape}; expected [2, E]")
    count = getattr(source, "num_nodes", None) if n_nodes is None else n_nodes
    weights = getattr(source, "edge_weight", None) if weights is None else weights
    pairs = np.ascontiguousarray(index.T)
    return _directed_list(pairs, _highest(pairs) if count is None else count, weights, directed, self_loops)


def _from_dgl(source: Any, n_nodes: int | None, weights: Any, directed: bool | None, self_loops: str) -> Graph:
    """An object whose `edges()` gives senders and receivers; `weights` may name a field of `edata`."""
    senders, receivers = source.edges()
    pairs = np.stack([numbers("edges", senders), numbers("edges", receivers)], axis=1)
    count = source.num_nodes() if callable(source.num_nodes) else source.num_nodes
    if isinstance(weights, str):
        weights = source.edata[weights]
    return _directed_list(pairs, count if n_nodes is None else n_nodes, weights, directed, self_loops)


def _directed_list(pairs: np.ndarray, count: Any, weights: Any, directed: bool | None, self_loops: str) -> Graph:
    """Lists whose entries send one way: undirected where each entry has its twin."""
    count = _count("n_nodes", count)
    if directed is None:
        directed = not _mirrored(pairs, weights)
    return _listed(pairs, count, weights, directed, self_loops)


def _mirrored(pairs: np.ndarray, weights: Any) -> bool:
    """Whether every edge is there in both directions, with one weight."""
    if pairs.size == 0 or pairs.dtype.kind not in "iu" or pairs.min() < 0:
        return True
    here, there = (np.lexsort((pairs[:, b], pairs[:, a])) for a, b in ((0, 1), (1, 0)))
    if not np.array_equal(pairs[here], pairs[there][:, ::-1]):
        return False
    if weights is None:
        return True
    values = numbers("edge_weight", weights)
    return values.shape != (len(pairs),) or np.array_equal(values[here], values[there])


def _from_table(table: Any, weights: Any) -> tuple[np.ndarray, Any]:
    """Senders and receivers in the first two columns of a table; weights in the third, or in the one named."""
    if table.shape[1] < 2:
        raise DataError(f"edges: a table of {table.shape[1]} columns; expected source, target and perhaps a weight")
    if isinstance(weights, str):
        if weights not in table.columns:
            raise UsageError(f"weights: the table has no column `{weights}`")
        weights = table[weights]
    elif weights is None and table.shape[1] == 3:
        weights = table.iloc[:, 2]
    ends = [numbers("edges", table.iloc[:, i]) for i in (0, 1)]
    return np.stack(ends, axis=1), weights


def as_dataset(
    graph: Any,
    x: Any = None,
    y: Any = None,
    *,
    train: Any = None,
    val: Any = None,
    test: Any = None,
    directed: bool | None = None,
    self_loops: str = "drop",
    copy: bool | None = None,
    name: str = "",
    class_names: list[str] | None = None,
    node_names: list[str] | None = None,
) -> Dataset:
    """A dataset from whatever is there; see `Dataset`."""
    if x is None:
        x, y, train, val, test = _own_fields(graph, y, train, val, test)
    if x is None:
        raise UsageError(
            "x: None; expected features [N, F]\n  fix: where there are none, one-hot ids serve: scipy.sparse.eye(n)"
        )
    dense, sparse = features(x)
    rows = sparse[0][0] if dense is None else dense.shape[0]
    made = as_graph(graph, int(rows), directed=directed, self_loops=self_loops)
    labels = None if y is None else numbers("y", y)
    parts = [_nodes(key, ids) for key, ids in (("train", train), ("val", val), ("test", test))]
    names: dict[str, Any] = {"name": name, "class_names": class_names, "node_names": node_names}
    return Dataset._of(made, dense, labels, *parts, sparse=sparse, copy=copy, **names)


def _own_fields(source: Any, y: Any, *split: Any) -> tuple[Any, ...]:
    """Features, labels and masks that an object brings and that were not given: attributes of PyG, `ndata` of DGL."""
    ndata = getattr(source, "ndata", None)
    field = (lambda name: getattr(source, name, None)) if ndata is None else (lambda name: ndata.get(name))
    x, labels = ("x", "y") if ndata is None else ("feat", "label")
    masks = [field(f"{part}_mask") for part in ("train", "val", "test")]
    given = split if any(part is not None for part in split) else masks
    return (field(x), field(labels) if y is None else y, *given)


def restored(parts: dict[str, Any]) -> Dataset:
    """Takes `Dataset.__reduce__` back."""
    return as_dataset(**parts)


def features(x: Any) -> tuple[np.ndarray | None, Any]:
    """An array, or the parts of a sparse matrix."""
    if is_sparse(x):
        if x.ndim != 2:
            raise DataError(f"x: {x.ndim} dimensions; expected [N, F]")
        if x.format == "csc":
            # SciPy itself does not look at indices before it follows them.
            x.check_format(full_check=True)
        return None, _parts("x", x.tocsr())
    dense = numbers("x", x)
    if dense.ndim != 2:
        raise DataError(
            f"x: {dense.shape} {dense.dtype}; expected [N, F]\n"
            "  fix: give one row of features per node; a single feature is x[:, None]"
        )
    return dense, None


def _nodes(key: str, ids: Any) -> np.ndarray:
    """Node ids or a mask."""
    if ids is None:
        return np.zeros(0, np.int64)
    array = numbers(key, ids)
    return array.astype(np.int64) if array.size == 0 else array
