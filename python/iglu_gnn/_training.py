"""Training and prediction, a level below the estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from . import _native
from ._native import Config, Dataset, Model, Trained

Callback = Callable[[dict[str, Any]], Any]


def train(
    config: Config | None = None,
    dataset: Dataset | str | os.PathLike[str] = "synth:village",
    *,
    callbacks: Callback | Iterable[Callback] = (),
    progress: bool = False,
) -> Trained:
    """Trains a network and keeps the one with the best validation score.

    Each callback is called after every epoch with a dictionary: epoch, epochs, loss, val, test, best, lr, seconds. One
    that returns True ends training. What a callback raises, and KeyboardInterrupt on Ctrl-C, is raised when training
    has stopped; its attribute `trained` is the best model so far. `progress=True` shows a bar (tqdm).

    The same configuration and data give the same bytes as the command line.

    >>> from iglu_gnn import Config, train
    >>> losses = []
    >>> trained = train(
    ...     Config(hidden=8, epochs=5), "synth:village@0.05", callbacks=lambda epoch: losses.append(epoch["loss"])
    ... )
    >>> len(losses), len(trained.history)
    (5, 5)
    """
    config = Config() if config is None else config
    if isinstance(dataset, (str, os.PathLike)):
        dataset = _native.load_dataset(dataset, config)
    listeners = [callbacks] if callable(callbacks) else list(callbacks)
    with _Bar(progress) as bar:
        if bar is not None:
            listeners.append(bar)
        return _native.train(config, dataset, _all(listeners))


def predict(model: Model, dataset: Dataset | str | os.PathLike[str], *, threads: int = 0) -> Any:
    """Logits of every node, float32 [N, C].

    >>> from iglu_gnn import Config, predict, train
    >>> model = train(Config(hidden=8, epochs=1), "synth:village@0.05").model
    >>> predict(model, "synth:village@0.05").shape
    (100, 8)
    """
    return model.predict(_data(model, dataset), threads=threads)


def embed(
    model: Model, dataset: Dataset | str | os.PathLike[str], layer: int | None = None, *, threads: int = 0
) -> Any:
    """Embeddings of every node, float32 [N, d]: what `layer` (from 1) makes of it; None: the last hidden layer.

    >>> from iglu_gnn import Config, embed, train
    >>> model = train(Config(hidden=8, epochs=1), "synth:village@0.05").model
    >>> embed(model, "synth:village@0.05").shape
    (100, 8)
    """
    layer = max(model.depth - 1, 1) if layer is None else layer
    return model.embed(_data(model, dataset), layer, threads=threads)


def _data(model: Model, dataset: Dataset | str | os.PathLike[str]) -> Dataset:
    if isinstance(dataset, (str, os.PathLike)):
        return _native.load_dataset(dataset, model.config.replace(split="auto"), predict=True)
    return dataset


def _all(listeners: list[Callback]) -> Callback | None:
    """One callback that calls them all and stops if one of them asks for it."""
    if not listeners:
        return None
    return lambda epoch: any([bool(listener(epoch)) for listener in listeners])


class _Bar:
    """A progress bar as a callback, or None."""

    def __init__(self, wanted: bool) -> None:
        self.bar: Any = None
        self.wanted = wanted

    def __enter__(self) -> Callback | None:
        if not self.wanted:
            return None
        from tqdm.auto import tqdm

        self.bar = tqdm(unit="epoch")
        return self

    def __call__(self, epoch: dict[str, Any]) -> None:
        self.bar.total = epoch["epochs"]
        shown = {"loss": epoch["loss"], "val": epoch["val"]}
        self.bar.set_postfix({name: f"{value:.4f}" for name, value in shown.items() if value is not None})
        self.bar.update(1)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()
