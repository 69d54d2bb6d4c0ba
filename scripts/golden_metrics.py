"""Writes golden values of the metrics, computed by scikit-learn.

    python scripts/golden_metrics.py    # needs numpy and scikit-learn

File: crates/iglu/tests/golden/metrics.txt, one `key value value ..` per line; the key `case` starts a new case.
Logits are multiples of 1/8: exact in float32, and with many ties. `nan` means that the metric is not defined.
"""

import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support, roc_auc_score

GOLDEN = Path(__file__).resolve().parents[1] / "crates" / "iglu" / "tests" / "golden"


def line(key, values):
    return " ".join([key, *(repr(v.item()) for v in np.asarray(values).reshape(-1))])


def mean(values):
    values = list(values)
    return np.mean(values) if values else np.nan


def auc(truth, score):
    return [roc_auc_score(truth, score)] if len(set(truth)) == 2 else []


def class_scores(labels, logits, rows):
    rows = [i for i in rows if labels[i] >= 0]
    y, z = labels[rows], logits[rows]
    if not len(y):
        return [np.nan] * 4
    prediction = z.argmax(1)
    f1 = [f1_score(y, prediction, average=a, zero_division=0) for a in ("micro", "macro")]
    if z.shape[1] == 2:
        area = mean(auc(y, z[:, 1] - z[:, 0]))
    else:
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        area = mean(a for c in range(z.shape[1]) for a in auc(y == c, p[:, c]))
        if len(set(y)) == z.shape[1]:
            assert np.isclose(area, roc_auc_score(y, p, multi_class="ovr", average="macro"), atol=1e-14)
    return [accuracy_score(y, prediction), *f1, area]


def label_scores(labels, logits, rows):
    y, z = labels[rows], logits[rows]
    known, prediction = y >= 0, z > 0
    if not known.any():
        return [np.nan] * 4
    accuracy = (prediction == y)[known].mean()
    micro = f1_score(y[known], prediction[known], average="binary", zero_division=0)
    columns = [(y[k, c], prediction[k, c], z[k, c]) for c, k in enumerate(known.T) if k.any()]
    macro = mean(f1_score(t, p, average="binary", zero_division=0) for t, p, _ in columns)
    if known.all():
        assert micro == f1_score(y, prediction, average="micro", zero_division=0)
        assert np.isclose(macro, f1_score(y, prediction, average="macro", zero_division=0), atol=1e-14)
    return [accuracy, micro, macro, mean(a for t, _, score in columns for a in auc(t, score))]


def by_class(labels, logits, rows):
    """Precision and recall of each class, and for one class per node the confusion matrix."""
    count = logits.shape[1]
    if labels.ndim == 1:
        rows = [i for i in rows if labels[i] >= 0]
        y, prediction = labels[rows], logits[rows].argmax(1)
        classes, pairs = range(count), [(y == c, prediction == c) for c in range(count)]
        matrix = confusion_matrix(y, prediction, labels=classes) if len(y) else np.zeros((count, count), int)
    else:
        y, prediction = labels[rows], logits[rows] > 0
        pairs, matrix = [(y[k, c] == 1, prediction[k, c]) for c, k in enumerate((y >= 0).T)], []
    scores = []
    for truth, answer in pairs:
        both = precision_recall_fscore_support(truth, answer, labels=[True], zero_division=np.nan) if len(truth) else None
        scores.append([both[0][0], both[1][0]] if both else [np.nan, np.nan])
    precision, recall = np.transpose(scores)
    return [line("precision", precision), line("recall", recall), line("confusion", matrix).rstrip()]


def case(name, labels, logits, rows):
    kind, scores = ("classes", class_scores) if labels.ndim == 1 else ("multi", label_scores)
    lines = [f"case {name}", f"kind {kind}", f"classes {logits.shape[1]}", line("labels", labels)]
    lines += [line("logits", logits), line("rows", rows)]
    names = ("accuracy", "f1-micro", "f1-macro", "roc-auc")
    lines += [line(key, value) for key, value in zip(names, scores(labels, logits, rows))]
    return lines + by_class(labels, logits, rows)


def cases(rng):
    def logits(n, classes):
        return np.round(rng.normal(size=(n, classes)) * 8) / 8

    def classes(n, c, low=0):
        return rng.integers(low, c, n)

    def rows(n, k):
        return rng.permutation(n)[:k]

    yield case("two-classes", classes(40, 2), logits(40, 2), rows(40, 40))
    yield case("two-classes-coarse", classes(40, 2), np.round(logits(40, 2)), rows(40, 30))
    yield case("two-classes-one-true", np.ones(6, int), logits(6, 2), rows(6, 6))
    yield case("three-classes", classes(50, 3), logits(50, 3), rows(50, 35))
    repeated = logits(5, 4)[rng.integers(0, 5, 40)]
    yield case("equal-rows", classes(40, 4), repeated, rows(40, 40))
    yield case("unlabelled-rows", classes(30, 3, low=-1), logits(30, 3), rows(30, 25))
    yield case("absent-classes", classes(20, 3) * 2, logits(20, 7), rows(20, 18))
    narrow = logits(20, 6)
    narrow[:, 4:] = -9
    yield case("neither-true-nor-predicted", classes(20, 3), narrow, rows(20, 20))
    yield case("nothing-labelled", np.full(5, -1), logits(5, 3), rows(5, 5))
    yield case("labels", classes((30, 5), 2), logits(30, 5), rows(30, 25))
    yield case("labels-coarse", classes((30, 5), 2), np.round(logits(30, 5)), rows(30, 30))
    yield case("labels-unknown", classes((30, 5), 2, low=-1), logits(30, 5), rows(30, 25))
    rare = (rng.random((25, 6)) < 0.08).astype(int)
    rare[:, 0], rare[:, 1] = 0, 1
    yield case("labels-one-answer", rare, logits(25, 6) - 1, rows(25, 25))
    unknown = classes((12, 3), 2)
    unknown[:, 1] = -1
    yield case("labels-unknown-column", unknown, logits(12, 3), rows(12, 12))
    yield case("labels-all-no", np.zeros((8, 2), int), -np.abs(logits(8, 2)), rows(8, 8))
    yield case("labels-nothing-known", np.full((4, 2), -1), logits(4, 2), rows(4, 4))


if __name__ == "__main__":
    warnings.simplefilter("error")
    GOLDEN.mkdir(parents=True, exist_ok=True)
    text = "\n".join("\n".join(lines) for lines in cases(np.random.default_rng(5)))
    (GOLDEN / "metrics.txt").write_text(f"# Written by scripts/golden_metrics.py with scikit-learn.\n{text}\n")
