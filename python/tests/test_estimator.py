"""`IGLUClassifier` has the habits of scikit-learn's estimators."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import iglu_gnn
from iglu_gnn import Dataset, Graph, IGLUClassifier, estimator

QUICK = {"hidden": 16, "epochs": 10, "threads": 1}


@parametrize_with_checks([IGLUClassifier(hidden=16, threads=1)])
def test_scikit_learns_own_checks(estimator: IGLUClassifier, check: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_a_graph_helps(village) -> None:
    alone = IGLUClassifier(**QUICK).fit(village.X, village.y, train=village.train, val=village.val)
    graph = IGLUClassifier(layer="gcn", **QUICK).fit(
        village.X, village.y, graph=village.edges, train=village.train, val=village.val
    )
    test = village.test
    assert graph.score(village.X, village.y, rows=test) > 0.95 > alone.score(village.X, village.y, rows=test) + 0.1
    assert len(graph.history_) == 10 and 1 <= graph.best_epoch_ <= 10


def test_labels_outside_of_train_and_val_are_not_seen(village) -> None:
    y = village.y.copy()
    y[village.test] = 99
    fits = [
        IGLUClassifier(**QUICK).fit(village.X, labels, graph=village.edges, train=village.train, val=village.val)
        for labels in (village.y, y)
    ]
    assert fits[0].model_.to_bytes() == fits[1].model_.to_bytes()
    assert fits[1].classes_.tolist() == [0, 1, 2]


def test_it_is_the_trainer_below_it(village) -> None:
    data = Dataset(village.edges, village.X, village.y, train=village.train, val=village.val)
    config = iglu_gnn.Config(layer="gcn", layers=3, hidden=8, epochs=2, lr=0.02, seed=7)
    below = iglu_gnn.train(config, data)
    clf = IGLUClassifier(layer="gcn", n_layers=3, hidden=8, epochs=2, lr=0.02, random_state=7)
    clf.fit(village.X, village.y, graph=village.edges, train=village.train, val=village.val)
    assert clf.model_.to_bytes() == below.model.to_bytes()
    logits = iglu_gnn.predict(below.model, data)
    np.testing.assert_array_equal(clf.decision_function(village.X), logits)
    np.testing.assert_array_equal(clf.predict(village.X), logits.argmax(axis=1))
    np.testing.assert_allclose(clf.predict_proba(village.X).sum(axis=1), 1)
    np.testing.assert_array_equal(clf.transform(village.X), iglu_gnn.embed(below.model, data))
    assert clf.transform(village.X, layer=1).shape[0] == village.n


def test_defaults_are_those_of_the_configuration() -> None:
    assert IGLUClassifier()._config(0) == iglu_gnn.Config()
    defaults = iglu_gnn.Config()
    for name, value in IGLUClassifier().get_params().items():
        if name not in estimator._OWN:
            assert defaults[estimator._KEYS.get(name, name)] == value, name


def test_classes_keep_their_names(village) -> None:
    names = np.array(["ant", "bee", "cat"])
    clf = IGLUClassifier(**QUICK).fit(village.X, names[village.y], graph=village.edges)
    assert clf.classes_.tolist() == names.tolist()
    assert clf.score(village.X, names[village.y]) > 0.9
    odd = np.array([-7, 3, 1000])
    assert set(IGLUClassifier(**QUICK).fit(village.X, odd[village.y]).predict(village.X)) <= set(odd.tolist())


def test_many_labels_are_a_table(village) -> None:
    y = np.stack([village.y == 0, village.y > 0], axis=1).astype(int)
    clf = IGLUClassifier(**QUICK).fit(village.X, y, graph=village.edges)
    found = clf.predict(village.X)
    assert found.shape == y.shape and set(np.unique(found)) <= {0, 1}
    assert clf.score(village.X, y) > 0.85 and clf.predict_proba(village.X).max() <= 1


def test_pipelines_searches_and_clones(village) -> None:
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(IGLUClassifier(**QUICK), X, y, cv=3).mean() > 0.85
    search = GridSearchCV(IGLUClassifier(**QUICK), {"n_layers": [1, 2], "lr": [0.01]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.8
    pipe = make_pipeline(StandardScaler(), IGLUClassifier(**QUICK))
    pipe.fit(village.X, village.y, igluclassifier__graph=Graph(village.edges, village.n))
    assert pipe.score(village.X, village.y) > 0.9
    copied = clone(IGLUClassifier(layer="gat", options={"heads": 2}))
    assert copied.get_params()["options"] == {"heads": 2} and copied.layer == "gat"


@pytest.mark.parametrize("jobs", [1, 2])
def test_searches_among_the_nodes_of_one_graph(village, jobs: int) -> None:
    whole = Dataset(village.edges, village.X)
    known = np.concatenate([village.train, village.val])
    search = GridSearchCV(IGLUClassifier(**QUICK), {"layer": ["gcn", "sage"]}, cv=2, n_jobs=jobs)
    search.fit(known[:, None], village.y[known], graph=whole)
    assert search.best_score_ > 0.9
    assert search.best_estimator_.score(village.test, village.y[village.test]) > 0.9


def test_the_graph_of_fit_is_remembered_and_can_be_replaced(village) -> None:
    clf = IGLUClassifier(**QUICK).fit(village.X, village.y, graph=village.edges)
    remembered = clf.predict_proba(village.X)
    np.testing.assert_array_equal(remembered, clf.predict_proba(village.X, graph=village.edges))
    assert not np.array_equal(remembered, clf.predict_proba(village.X, graph=Graph(None, village.n)))
    with pytest.raises(iglu_gnn.UsageError, match="give the graph of these rows"):
        clf.predict(village.X[:10])
    with pytest.raises(iglu_gnn.DataError, match="expected 240 rows"):
        clf.score(village.X, village.y[:10])
    with pytest.raises(iglu_gnn.DataError, match="row 999"):
        clf.score(village.X, village.y, rows=[999])
    assert clf.predict(village.X[:10], graph=[[0, 1]]).shape == (10,)


def test_a_second_fit_forgets_the_first(village) -> None:
    clf = IGLUClassifier(**QUICK).fit(village.X, village.y, graph=village.edges)
    first = clf.model_.to_bytes()
    clf.fit(village.X[:50], village.y[:50] > 0)
    assert clf.classes_.tolist() == [False, True] and clf.predict(village.X).shape == (village.n,)
    assert copy.deepcopy(clf).fit(village.X, village.y, graph=village.edges).model_.to_bytes() == first
    with pytest.raises(iglu_gnn.UsageError):
        clf.set_params(lr=-1.0).fit(village.X, village.y)
    with pytest.raises(NotFittedError):
        clf.predict(village.X)


def test_files_and_pickles(village, tmp_path: Path) -> None:
    names = np.array(["ant", "bee", "cat"])
    clf = IGLUClassifier(layer="gcn", **QUICK).fit(village.X, names[village.y], graph=village.edges)
    expect = clf.predict(village.X, graph=village.edges)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict(village.X), expect)
    clf.save(tmp_path / "m.safetensors")
    again = IGLUClassifier.load(tmp_path / "m.safetensors", classes=names)
    np.testing.assert_array_equal(again.predict(village.X, graph=village.edges), expect)
    assert (again.layer, again.hidden, again.n_layers) == ("gcn", 16, 2)
    with pytest.raises(iglu_gnn.UsageError, match="2 names; the network has 3 classes"):
        IGLUClassifier.load(tmp_path / "m.safetensors", classes=["a", "b"])


def test_tables_sparse_matrices_and_masks(village) -> None:
    mask = np.isin(np.arange(village.n), village.train)
    one, other = (
        IGLUClassifier(**QUICK).fit(X, pd.Series(village.y), graph=village.edges, train=train, val=village.val)
        for X, train in ((pd.DataFrame(village.X, columns=list("abc")), mask), (village.X, np.flatnonzero(mask)))
    )
    assert one.model_.to_bytes() == other.model_.to_bytes()
    assert one.feature_names_in_.tolist() == ["a", "b", "c"]
    sparse = IGLUClassifier(**QUICK).fit(sp.csr_matrix(village.X), village.y, graph=sp.csr_matrix((village.n,) * 2))
    assert sparse.predict(sp.csr_matrix(village.X)).shape == (village.n,)


def test_recipes_options_and_class_weights(village) -> None:
    clf = IGLUClassifier(recipe="gat-cora", hidden=4, epochs=1, options={"network.heads": 2})
    clf.fit(village.X, village.y, graph=village.edges)
    config = clf.model_.config
    assert (config["layer"], config["heads"], config["hidden"], config["epochs"]) == ("gat", 2, 4, 1)
    heavy = IGLUClassifier(class_weight={0: 1000.0}, **QUICK).fit(village.X, village.y)
    assert (heavy.predict(village.X) == 0).mean() > 0.9
    balanced = IGLUClassifier(class_weight="balanced", **QUICK).fit(village.X, village.y)
    assert balanced.model_.config["loss.balanced"] is True


def test_callbacks_and_interruptions_leave_a_usable_estimator(village) -> None:
    def stop(epoch: dict) -> None:
        raise KeyboardInterrupt

    clf = IGLUClassifier(callbacks=stop, **QUICK)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(village.X, village.y, graph=village.edges)
    assert clf.predict(village.X).shape == (village.n,)
    assert len(clf.history_) == 1


@pytest.mark.parametrize(
    ("options", "arguments", "kind", "text"),
    [
        ({"layer": "gnc"}, {}, iglu_gnn.UsageError, "did you mean|gnc"),
        ({"hidden": -1}, {}, iglu_gnn.UsageError, "network.hidden"),
        ({"options": {"hiden": 1}}, {}, iglu_gnn.UsageError, "did you mean `network.hidden`"),
        ({"recipe": "gat-corra"}, {}, iglu_gnn.UsageError, "did you mean `gat-cora`"),
        ({"random_state": "now"}, {}, iglu_gnn.UsageError, "random_state"),
        ({"random_state": -1}, {}, iglu_gnn.UsageError, "random_state"),
        ({"validation_fraction": 1.5}, {}, iglu_gnn.UsageError, "validation_fraction"),
        ({"class_weight": "heavy"}, {}, iglu_gnn.UsageError, "class_weight"),
        ({"class_weight": 3}, {}, iglu_gnn.UsageError, "class_weight"),
        ({}, {"train": [0, 1, 1]}, iglu_gnn.DataError, "already in train"),
        ({}, {"train": [0, 240]}, iglu_gnn.DataError, "entry 1: row 240, but there are 240 rows"),
        ({}, {"train": [-1]}, iglu_gnn.DataError, "row -1"),
        ({}, {"train": np.ones(3, bool)}, iglu_gnn.DataError, "mask of shape"),
        ({}, {"train": [0.5]}, iglu_gnn.DataError, "expected row ids"),
        ({}, {"train": []}, iglu_gnn.DataError, "no training row"),
        ({}, {"train": [0, 1], "val": [1]}, iglu_gnn.DataError, "already in"),
        ({}, {"graph": [[0, 999]]}, iglu_gnn.DataError, "target 999"),
        ({}, {"graph": sp.eye(7).tocsr()}, iglu_gnn.DataError, "7 nodes; expected 240"),
    ],
)
def test_wrong_arguments_are_named(village, options: dict, arguments: dict, kind: type, text: str) -> None:
    with pytest.raises(kind, match=text):
        IGLUClassifier(**{**QUICK, **options}).fit(village.X, village.y, **arguments)


def test_predictions_need_a_fit(village) -> None:
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        with pytest.raises(NotFittedError):
            getattr(IGLUClassifier(), method)(village.X)


def test_it_works_without_scikit_learn(tmp_path: Path) -> None:
    program = """
import sys
sys.modules.update({"sklearn": None, "sklearn.base": None, "scipy": None, "pandas": None})
import numpy as np
from iglu_gnn import IGLUClassifier
X = np.repeat(np.eye(2), 20, axis=0)
y = np.repeat(["cat", "dog"], 20)
clf = IGLUClassifier(hidden=8, epochs=3, threads=1)
assert clf.set_params(lr=0.02).get_params()["lr"] == 0.02
assert clf.fit(X, y, graph=[[0, 1]]).score(X, y) == 1.0
print(clf)
for bad in (lambda: clf.set_params(colour=1), lambda: IGLUClassifier().predict(X), lambda: clf.predict(X[:, :1])):
    try:
        bad()
    except ValueError:
        continue
    raise SystemExit("accepted")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "IGLUClassifier(epochs=3, hidden=8, lr=0.02, threads=1)"
