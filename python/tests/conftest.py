"""What the tests share: a small problem that a graph solves and features alone do not."""

from __future__ import annotations

import numpy as np
import pytest

import iglu_gnn


class Village:
    """Three classes whose members know each other; features that only hint at the class."""

    def __init__(self, n: int = 240, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.n = n
        self.y = rng.integers(0, 3, n)
        self.X = (np.eye(3)[self.y] + rng.normal(0, 1.2, (n, 3))).astype(np.float32)
        pairs = rng.integers(0, n, (12 * n, 2))
        alike = self.y[pairs[:, 0]] == self.y[pairs[:, 1]]
        self.edges = pairs[alike | (rng.random(len(pairs)) < 0.05)]
        ids = rng.permutation(n)
        self.train, self.val, self.test = ids[: n // 4], ids[n // 4 : n // 2], ids[n // 2 :]

    def dataset(self, **options: object) -> iglu_gnn.Dataset:
        split = {"train": self.train, "val": self.val, "test": self.test}
        return iglu_gnn.Dataset(self.edges, self.X, self.y, **{**split, **options})


@pytest.fixture(scope="session")
def village() -> Village:
    return Village()


@pytest.fixture(scope="session")
def quick() -> iglu_gnn.Config:
    """A configuration that trains in a moment."""
    return iglu_gnn.Config(hidden=8, epochs=2, threads=1)
