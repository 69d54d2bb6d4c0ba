"""Graph convolutional networks trained with lazy updates, on ordinary CPUs.

The estimator, in the habits of scikit-learn:

>>> import numpy as np
>>> from iglu_gnn import IGLUClassifier
>>> rng = np.random.default_rng(0)
>>> y = rng.integers(0, 2, 200)                                # a class per node
>>> X = y[:, None] + rng.normal(0, 1.5, (200, 4))              # noisy features
>>> edges = rng.integers(0, 200, (3000, 2))
>>> edges = edges[y[edges[:, 0]] == y[edges[:, 1]]]            # neighbours are alike
>>> clf = IGLUClassifier(layer="gcn", hidden=16, random_state=0)
>>> clf = clf.fit(X, y, graph=edges, train=np.arange(100))     # half of the labels are seen
>>> bool(clf.score(X, y) > 0.9)
True

And a level below it: `Dataset`, `Config` and `train`.

>>> from iglu_gnn import Config, load_dataset, predict, train
>>> data = load_dataset("synth:village@0.1")
>>> trained = train(Config(layer="sage", hidden=16, epochs=3), data)
>>> trained.model
Model(2 layers of sage, 32 features, 8 classes, 2792 parameters)
>>> predict(trained.model, data).shape
(200, 8)
"""

from __future__ import annotations

import atexit as _atexit
import os as _os
from typing import TYPE_CHECKING

from . import _native
from ._native import Config, Dataset, Graph, Model, Trained, __version__, load_dataset, load_model
from ._training import embed, predict, train
from .errors import (
    BugError,
    DataError,
    DivergedError,
    IgluError,
    InterruptedRun,
    LockedError,
    MemoryLimitError,
    MissingError,
    OutputError,
    UsageError,
)

if TYPE_CHECKING:
    from .estimator import IGLUClassifier as IGLUClassifier

__all__ = [
    "BugError",
    "Config",
    "DataError",
    "Dataset",
    "DivergedError",
    "Graph",
    "IGLUClassifier",
    "IgluError",
    "InterruptedRun",
    "LockedError",
    "MemoryLimitError",
    "MissingError",
    "Model",
    "OutputError",
    "Trained",
    "UsageError",
    "__version__",
    "embed",
    "load_dataset",
    "load_model",
    "predict",
    "train",
]

_atexit.register(_native.close)
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native.after_fork)


def __getattr__(name: str) -> object:
    # The estimator inherits from scikit-learn's where that is installed, which takes a second to import.
    if name == "IGLUClassifier":
        from .estimator import IGLUClassifier

        globals()[name] = IGLUClassifier
        return IGLUClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
