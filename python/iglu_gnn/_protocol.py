"""The habits of scikit-learn's estimators, for machines without scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any


class NotFittedError(ValueError, AttributeError):
    """A prediction was asked for before `fit`."""


class DataConversionWarning(UserWarning):
    """Something was read in another shape than it was given in."""


class ClassifierMixin:
    """Says what kind of estimator this is."""

    _estimator_type = "classifier"


class TransformerMixin:
    """`fit` and `transform` in one."""

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Trains on `X` and gives its embeddings."""
        return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]


class BaseEstimator:
    """Parameters by name."""

    @classmethod
    def _names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor, by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> BaseEstimator:
        """Changes parameters of the constructor."""
        for name, value in params.items():
            if name not in self._names():
                known = ", ".join(self._names())
                raise ValueError(f"Invalid parameter {name!r} for estimator {type(self).__name__}: one of {known}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        said = [f"{n}={v!r}" for n, v in self.get_params().items() if v is not defaults[n].default]
        return f"{type(self).__name__}({', '.join(said)})"
