"""`IGLUClassifier`: the trainer as an estimator in the habits of scikit-learn.

scikit-learn is not needed. Where it is installed the estimator inherits from its base classes, and inputs are checked
by its functions, so that pipelines, searches and clones work as they do with any other.
"""

from __future__ import annotations

import inspect
import os
import warnings
from typing import Any

import numpy as np

from . import _convert, _targets
from ._native import Config, Dataset, Graph, Model, Trained, load_model
from ._training import embed, train as train_network
from .errors import DataError, UsageError

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import validate_data
except ImportError:
    from ._protocol import BaseEstimator, ClassifierMixin, DataConversionWarning, NotFittedError, TransformerMixin

    check_classification_targets = validate_data = None

__all__ = ["IGLUClassifier"]

#: Parameters of the estimator that are keys of the configuration under another name.
_KEYS = {"n_layers": "network.layers", "batch_size": "train.batch"}

#: Parameters that are no keys of the configuration.
_OWN = frozenset({"recipe", "class_weight", "validation_fraction", "random_state", "options", "callbacks", "verbose"})


class IGLUClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):
    """A graph convolutional network for the classes or labels of nodes.

    Without a graph every row stands alone, and the network is a multi-layer perceptron.

    Parameters
    ----------
    layer : str
        Architecture of the graph layers: "sage", "gcn", "gat", "gin", ... (`python -m iglu_gnn train --help`).
    n_layers : int
        Number of graph layers.
    hidden : int or "auto"
        Width of a hidden layer.
    epochs : int or "auto"
        Epochs of training.
    lr : float
        Learning rate.
    dropout : float
        Share of a layer's inputs dropped while training.
    weight_decay : float
        Decoupled weight decay.
    batch_size : int, "auto" or "full"
        Rows of a mini-batch.
    order : str
        Order of updates: "inverted", "inverted-printed", "backprop", "exact".
    setting : str
        "transductive", or "inductive": training sees the subgraph of the training nodes only.
    metric : str
        Score that chooses the best epoch: "auto", "accuracy", "f1-micro", "f1-macro", "roc-auc".
    patience : int
        Evaluations without a better validation score before stopping; 0: never.
    class_weight : dict, "balanced" or None
        Weights of classes in the loss.
    validation_fraction : float
        Share of the training rows that the best epoch is chosen on, where `fit` gets no `val`.
    random_state : int, RandomState instance or None
        Root of all random numbers; None is 0: runs are reproducible.
    threads : int
        Worker threads; 0: one per core. Results do not depend on it.
    recipe : str or None
        A network of the paper by name; parameters that differ from their defaults win over it.
    options : dict or None
        Any other key of the configuration: {"network.norm": "batch"}.
    callbacks : callable, list of callables or None
        Called after every epoch, see `iglu_gnn.train`.
    verbose : bool
        Shows a progress bar (tqdm).

    Attributes
    ----------
    classes_ : ndarray
        The classes; for a 0/1 matrix, the numbers of its columns.
    model_ : iglu_gnn.Model
        The best network.
    history_ : list of dict
        Scores after every evaluated epoch.
    best_epoch_ : int
        The epoch of the best network, from 1.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen by `fit`, if they all have one.

    Examples
    --------
    >>> import numpy as np
    >>> from iglu_gnn import IGLUClassifier
    >>> X = np.repeat(np.eye(2), 30, axis=0)
    >>> y = np.repeat(["cat", "dog"], 30)
    >>> clf = IGLUClassifier(hidden=8, epochs=3).fit(X, y)
    >>> [str(name) for name in clf.predict([[1, 0], [0, 1]])]
    ['cat', 'dog']
    """

    def __init__(
        self,
        *,
        layer: str = "sage",
        n_layers: int = 2,
        hidden: int | str = "auto",
        epochs: int | str = "auto",
        lr: float = 0.01,
        dropout: float = 0.5,
        weight_decay: float = 0.0,
        batch_size: int | str = "auto",
        order: str = "inverted",
        setting: str = "transductive",
        metric: str = "auto",
        patience: int = 0,
        class_weight: Any = None,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        threads: int = 0,
        recipe: str | None = None,
        options: dict[str, Any] | None = None,
        callbacks: Any = None,
        verbose: bool = False,
    ) -> None:
        self.layer = layer
        self.n_layers = n_layers
        self.hidden = hidden
        self.epochs = epochs
        self.lr = lr
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.order = order
        self.setting = setting
        self.metric = metric
        self.patience = patience
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.threads = threads
        self.recipe = recipe
        self.options = options
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: Any, graph: Any = None, train: Any = None, val: Any = None) -> IGLUClassifier:
        """Trains on the rows `train` of `X`, and keeps the network that is best on the rows `val`.

        X : array or sparse matrix [N, F], one row per node. If `graph` is a `Dataset`: ids of nodes in it.
        y : classes [N], or a 0/1 matrix [N, C]. Where `train` is given, only labels of rows in `train` and `val`
            are looked at.
        graph : whatever `Graph` takes; None: no edges. A `Dataset` brings the features of all nodes with it, so that
            cross-validation can choose among nodes of one graph.
        train, val : row ids or masks. Without `train` all rows but those of `val` are trained on.

        Ctrl-C raises KeyboardInterrupt and leaves the best network so far in place.
        """
        # A fit that fails leaves nothing behind that could be taken for its result.
        self.__dict__.pop("model_", None)
        frame, seed = self._frame(X, graph, reset=True), _targets.seed(self.random_state)
        y = self._labels(y, len(frame.rows))
        chosen, judged = self._parts(train, val, len(frame.rows))
        known = np.concatenate([chosen, judged])
        if check_classification_targets is not None:
            check_classification_targets(y[known])
        labels, self.classes_ = _targets.encoded(y, known)
        chosen, judged = self._held_out(chosen, judged, labels, seed)
        data = frame.labelled(labels, chosen, judged)
        self._frame_: _Frame | None = frame.kept()
        try:
            trained = train_network(
                self._config(seed), data, callbacks=self.callbacks or (), progress=bool(self.verbose)
            )
        except BaseException as e:
            best = getattr(e, "trained", None)
            if isinstance(best, Trained):
                self._take(best)
            raise
        return self._take(trained)

    def decision_function(self, X: Any, graph: Any = None) -> np.ndarray:
        """Logits: [N, C], or [N] for two classes."""
        logits = self._logits(X, graph)
        return logits[:, 1] - logits[:, 0] if self._binary() else logits

    def predict_proba(self, X: Any, graph: Any = None) -> np.ndarray:
        """Probabilities of classes [N, C]; for labels, the probability of each."""
        logits = self._logits(X, graph).astype(np.float64)
        if self.model_.multi_label:
            return np.exp(-np.logaddexp(0, -logits))
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def predict(self, X: Any, graph: Any = None) -> np.ndarray:
        """The class of each row, or the 0/1 matrix of its labels."""
        logits = self._logits(X, graph)
        if self.model_.multi_label:
            return (logits > 0).astype(np.int64)
        return self.classes_[logits.argmax(axis=1)]

    def transform(self, X: Any, graph: Any = None, layer: int | None = None) -> np.ndarray:
        """Embeddings: what `layer` (from 1) makes of each row; None: the last hidden layer."""
        frame = self._asked(X, graph)
        return embed(self.model_, frame.data(), layer, threads=self.threads)[frame.rows]

    def score(self, X: Any, y: Any, graph: Any = None, rows: Any = None) -> float:
        """Accuracy on `rows` (ids or a mask; None: all); for labels, of whole rows."""
        found = self.predict(X, graph=graph)
        right = found == self._labels(y, len(found))
        right = right.all(axis=1) if right.ndim == 2 else right
        return float(np.mean(right if rows is None else right[_targets.rows("rows", rows, len(right))]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the network to a safetensors file that `load` and the command line read."""
        self._check_fitted()
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], classes: Any = None) -> IGLUClassifier:
        """An estimator with the network in a file, or in the folder of a run; `classes`: their names, in order."""
        model = load_model(path)
        names = np.arange(model.n_classes) if classes is None else np.asarray(classes)
        if names.shape != (model.n_classes,):
            raise UsageError(f"classes: {names.size} names; the network has {model.n_classes} classes")
        made = cls()
        config = model.config
        for name in made.get_params():
            if name not in _OWN:
                setattr(made, name, config[_KEYS.get(name, name)])
        made.random_state = config["seed"]
        made.model_, made.classes_, made.n_features_in_ = model, names, model.n_features
        made.history_, made.best_epoch_, made._frame_ = [], 0, None
        return made

    def _config(self, seed: int) -> Config:
        # Only what differs from a default is said, so that it wins over a recipe and the rest does not.
        defaults = {name: p.default for name, p in inspect.signature(type(self).__init__).parameters.items()}
        values = {
            _KEYS.get(name, name): value
            for name, value in self.get_params(deep=False).items()
            if name not in _OWN and not _same(value, defaults.get(name))
        }
        values["seed"] = seed
        if self.class_weight is not None:
            values.update(_targets.class_weights(self.class_weight, self.classes_))
        return Config(self.recipe, **{**values, **(self.options or {})})

    def _take(self, trained: Trained) -> IGLUClassifier:
        self.model_: Model = trained.model
        self.history_ = trained.history
        self.best_epoch_ = trained.best_epoch
        self.n_iter_ = trained.report["epochs"]
        return self

    def _frame(self, X: Any, graph: Any, reset: bool) -> _Frame:
        """The nodes asked about and the data they stand in."""
        if isinstance(graph, Dataset):
            rows = _targets.ids(X, graph.n_nodes)
            if reset:
                self.n_features_in_ = 1
            return _Frame(None, graph.graph, rows, graph)
        X = self._checked(X, reset)
        made = None if graph is None else _convert.as_graph(graph, X.shape[0])
        return _Frame(X, made, np.arange(X.shape[0]), None)

    def _asked(self, X: Any, graph: Any) -> _Frame:
        """What a prediction is about; without a graph, that of `fit` where it has as many nodes."""
        self._check_fitted()
        if graph is not None:
            return self._frame(X, graph, reset=False)
        if self._frame_ is not None and self._frame_.source is not None:
            return self._frame(X, self._frame_.source, reset=False)
        frame = self._frame(X, None, reset=False)
        known = None if self._frame_ is None else self._frame_.graph
        if known is not None:
            if known.n_nodes != frame.n_nodes:
                raise UsageError(
                    f"graph: None; `fit` had a graph of {known.n_nodes} nodes, X has {frame.n_nodes} rows\n"
                    "  fix: give the graph of these rows: predict(X, graph=...)"
                )
            frame.graph = known
        return frame

    def _logits(self, X: Any, graph: Any) -> np.ndarray:
        frame = self._asked(X, graph)
        return self.model_.predict(frame.data(), threads=self.threads)[frame.rows]

    def _binary(self) -> bool:
        return len(self.classes_) == 2 and not self.model_.multi_label

    def _checked(self, X: Any, reset: bool) -> Any:
        """Features as float32, an array or a sparse matrix in compressed rows."""
        if validate_data is not None:
            X = _detached(X)
            return validate_data(self, X, reset=reset, dtype=np.float32, accept_sparse="csr")
        X = X.tocsr() if _convert.is_sparse(X) else _convert.numbers("X", X)
        if X.ndim != 2:
            raise DataError(f"X: {X.ndim} dimensions; expected [N, F]")
        if reset:
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            expected = f"{type(self).__name__} is expecting {self.n_features_in_} features as input"
            raise DataError(f"X has {X.shape[1]} features, but {expected}")
        return X

    def _labels(self, y: Any, rows: int) -> np.ndarray:
        if y is None:
            raise UsageError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = np.asarray(_detached(y))
        if y.ndim == 2 and y.shape[1] == 1:
            _warn_column()
            y = y[:, 0]
        if y.ndim not in (1, 2) or y.shape[0] != rows:
            raise DataError(f"y: shape {y.shape}; expected {rows} rows, one per row of X")
        return y

    def _parts(self, train: Any, val: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Row ids for training and for choosing."""
        judged = _targets.rows("val", val, n)
        if train is None:
            free = np.ones(n, bool)
            free[judged] = False
            return np.flatnonzero(free), judged
        return _targets.rows("train", train, n), judged

    def _held_out(
        self, chosen: np.ndarray, judged: np.ndarray, labels: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Takes a share of the training rows for validation, where none are given; a class keeps a row at least."""
        share = self.validation_fraction
        if not isinstance(share, (int, float, np.number)) or not 0 <= share < 1:
            raise UsageError(f"validation_fraction: {share!r}; expected 0 or more and less than 1")
        wanted = int(len(chosen) * share)
        if len(judged) or wanted == 0:
            return chosen, judged
        order = np.random.default_rng(seed).permutation(chosen)
        if labels.ndim == 1:
            _, first = np.unique(labels[order], return_index=True)
            order = np.concatenate([order[first], np.delete(order, first)])
            wanted = min(wanted, len(order) - len(first))
        cut = len(order) - wanted
        return np.sort(order[:cut]), np.sort(order[cut:])

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class _Frame:
    """Nodes that are asked about, and the data they stand in."""

    def __init__(self, X: Any, graph: Graph | None, rows: np.ndarray, source: Dataset | None) -> None:
        self.X, self.graph, self.rows, self.source = X, graph, rows, source

    @property
    def n_nodes(self) -> int:
        return self.X.shape[0] if self.source is None else self.source.n_nodes

    def data(self) -> Dataset:
        """The data without labels."""
        return self.source if self.source is not None else _convert.as_dataset(self.graph, self.X)

    def labelled(self, labels: np.ndarray, train: np.ndarray, val: np.ndarray) -> Dataset:
        """The data with labels of the nodes asked about; `train` and `val` count among these."""
        y = np.full((self.n_nodes, *labels.shape[1:]), -1, np.int64)
        y[self.rows] = labels
        if self.source is not None:
            return self.source._with_labels(y, self.rows[train], self.rows[val], np.zeros(0, np.int64))
        return _convert.as_dataset(self.graph, self.X, y, train=self.rows[train], val=self.rows[val])

    def kept(self) -> _Frame:
        """What predictions need of it later: the graph, and the data if that brings the features."""
        return _Frame(None, self.graph, self.rows[:0], self.source)


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default


def _detached(values: Any) -> Any:
    """A tensor as an array; anything else as it is."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def _warn_column() -> None:
    text = "A column-vector y was passed when a 1d array was expected; y is read as y[:, 0]."
    warnings.warn(text, DataConversionWarning, stacklevel=4)
