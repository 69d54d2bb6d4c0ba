"""Papers of Cora: from the public files to classes, with scikit-learn's habits, and a picture of what was learned.

    pip install iglu-gnn scipy scikit-learn matplotlib
    python examples/cora.py                      # fetches the files of Planetoid into cora/ (about 1 MB)
    python examples/cora.py path/to/planetoid    # or takes those that are there

140 of 2,708 papers have a label; who cites whom has to tell the others. The script prints the test accuracy of
networks with and without the graph, searches the width of one of them among the labelled nodes, and draws `cora.png`.
It printed:

    Dataset(2708 nodes, 5278 edges, 1433 features, 7 classes; 140 train, 500 val, 1000 test)
    no graph   best epoch  1   test accuracy 0.534
    sage       best epoch 11   test accuracy 0.811
    gcn        best epoch  6   test accuracy 0.798
    gat        best epoch  7   test accuracy 0.786
    appnp      best epoch 18   test accuracy 0.747
    search     best {'hidden': 64}, 0.793 in 3 folds of the labelled nodes
    picture    cora.png
"""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from iglu_gnn import Dataset, Graph, IGLUClassifier, load_dataset

SOURCE = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data"
TOPICS = ["theory", "reinforcement", "genetic", "neural nets", "probabilistic", "case based", "rule learning"]


def fetched(folder: Path) -> Path:
    """The folder, with the files of Cora in it."""
    folder.mkdir(exist_ok=True)
    for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"):
        path = folder / f"ind.cora.{part}"
        if not path.exists():
            urllib.request.urlretrieve(f"{SOURCE}/{path.name}", path)
    return folder


def compared(data: Dataset) -> dict[str, IGLUClassifier]:
    """Networks trained on the public split, each with the same 140 labels."""
    no_graph = Graph(None, data.n_nodes)
    fits = {}
    for name, layer, graph in [
        ("no graph", "sage", no_graph),
        ("sage", "sage", data.graph),
        ("gcn", "gcn", data.graph),
        ("gat", "gat", data.graph),
        ("appnp", "appnp", data.graph),
    ]:
        clf = IGLUClassifier(layer=layer, hidden=64, epochs=30, random_state=0)
        clf.fit(data.x, data.y, graph=graph, train=data.train, val=data.val)
        accuracy = clf.score(data.x, data.y, rows=data.test)
        print(f"{name:10} best epoch {clf.best_epoch_:2}   test accuracy {accuracy:.3f}")
        fits[name] = clf
    return fits


def searched(data: Dataset) -> None:
    """Cross-validation among the labelled nodes: rows are node ids, the dataset brings graph and features."""
    search = GridSearchCV(IGLUClassifier(layer="gcn", epochs=20), {"hidden": [16, 64]}, cv=3)
    search.fit(data.train[:, None], data.y[data.train], graph=data)
    print(f"search     best {search.best_params_}, {search.best_score_:.3f} in 3 folds of the labelled nodes")


def drawn(data: Dataset, fits: dict[str, IGLUClassifier], path: Path) -> None:
    """Validation curves, and the embeddings of all papers in two dimensions."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for name, clf in fits.items():
        left.plot([p["epoch"] for p in clf.history_], [p["val"] for p in clf.history_], label=name)
    left.set(xlabel="epoch", ylabel="validation accuracy", title="Cora, 140 labels")
    left.legend()
    plane = PCA(2).fit_transform(fits["gcn"].transform(data.x))
    for topic, name in enumerate(TOPICS):
        own = np.flatnonzero(data.y == topic)
        right.scatter(*plane[own].T, s=4, label=name)
    right.set(title="embeddings of the papers (gcn), first two components", xticks=[], yticks=[])
    right.legend(markerscale=3, fontsize="small")
    figure.savefig(path, dpi=110)
    print(f"picture    {path}")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else fetched(Path("cora"))
    data = load_dataset(folder)
    print(data)
    fits = compared(data)
    searched(data)
    drawn(data, fits, Path("cora.png"))


if __name__ == "__main__":
    main()
