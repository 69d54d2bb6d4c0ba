"""Writes golden values of the optimisers and of the task loss, computed by PyTorch in float64.

    python scripts/golden_optim.py      # needs numpy and torch

Files: crates/iglu/tests/golden/optim.txt and loss.txt. The format is one `key value value ..` per line; the key
`case` starts a new case. Inputs are multiples of 1/64, so that they are exact in float32 too.
"""

from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

GOLDEN = Path(__file__).resolve().parents[1] / "crates" / "iglu" / "tests" / "golden"
STEPS = 6
SIZES = (5, 3)


def line(key, values):
    return " ".join([key, *(repr(float(v)) for v in np.asarray(values).reshape(-1))])


def grid(rng, *shape):
    return np.round(rng.normal(size=shape) * 64) / 64


def tensor(array):
    return torch.tensor(array, dtype=torch.float64)


class TensorFlowAdam:
    """tf.train.AdamOptimizer: epsilon outside the bias correction."""

    def __init__(self, params, lr):
        self.params, self.lr, self.t = params, lr, 0
        self.m, self.v = ([torch.zeros_like(p) for p in params] for _ in range(2))

    def step(self):
        self.t += 1
        rate = self.lr * np.sqrt(1 - 0.999**self.t) / (1 - 0.9**self.t)
        for p, m, v in zip(self.params, self.m, self.v):
            m += 0.1 * (p.grad - m)
            v += 0.001 * (p.grad**2 - v)
            p.data -= rate * m / (v.sqrt() + 1e-8)


# name: (options of ours, optimiser, size of the gradients)
OPTIMISERS = {
    "adam": ("method=adam", lambda p: torch.optim.Adam(p, 0.01), 1.0),
    "adam-tiny-gradients": ("method=adam", lambda p: torch.optim.Adam(p, 0.01), 2.0**-27),
    "adam-betas": ("method=adam beta1=0.5 beta2=0.9 eps=0.001", lambda p: torch.optim.Adam(p, 0.01, (0.5, 0.9), 1e-3), 1.0),
    "adam-l2": ("method=adam l2=0.3", lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.3), 1.0),
    "adamw": ("method=adam weight_decay=0.3", lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.3), 1.0),
    "adam-tf": ("method=adam-tf", lambda p: TensorFlowAdam(p, 0.01), 1.0),
    "adam-tf-tiny-gradients": ("method=adam-tf", lambda p: TensorFlowAdam(p, 0.01), 2.0**-27),
    "sgd": ("method=sgd", lambda p: torch.optim.SGD(p, 0.01), 1.0),
    "sgd-momentum": ("method=sgd momentum=0.9", lambda p: torch.optim.SGD(p, 0.01, momentum=0.9), 1.0),
    # Without momentum PyTorch's coupled decay is the decoupled one.
    "sgd-decay": ("method=sgd weight_decay=0.3", lambda p: torch.optim.SGD(p, 0.01, weight_decay=0.3), 1.0),
    "sgd-clip": ("method=sgd clip=1.5", lambda p: torch.optim.SGD(p, 0.01), 1.0),
    "adam-clip": ("method=adam clip=1.5", lambda p: torch.optim.Adam(p, 0.01), 1.0),
}


def optimiser_case(name, rng):
    options, make, size = OPTIMISERS[name]
    start = [grid(rng, n) for n in SIZES]
    params = [torch.nn.Parameter(tensor(p)) for p in start]
    optimiser = make(params)
    lines = [f"case {name}", f"options {options}", line("start", np.concatenate(start))]
    clip = [float(o[5:]) for o in options.split() if o.startswith("clip=")]
    for t in range(STEPS):
        # Some gradients inside the limit, some outside.
        grads = [grid(rng, n) * size * (0.25 if t % 2 else 1) for n in SIZES]
        for p, g in zip(params, grads):
            p.grad = tensor(g)
        if clip:
            torch.nn.utils.clip_grad_norm_(params, clip[0])
        optimiser.step()
        lines.append(line("grad", np.concatenate(grads)))
        lines.append(line("expect", torch.cat([p.detach() for p in params])))
    return lines


def softmax_case(name, rng, classes, weights, smoothing):
    n = 7
    logits, labels = grid(rng, n, classes) * 2, rng.integers(0, classes, n)
    logits[1, 0], logits[2, 1] = 90.0, -120.0
    labels[0] = -1
    z = tensor(logits).requires_grad_()
    weight = None if weights is None else tensor(weights)
    loss = F.cross_entropy(z, torch.tensor(labels), weight, ignore_index=-1, label_smoothing=smoothing)
    loss.backward()
    return case(name, "classes", classes, labels, logits, weights, smoothing, loss, z.grad)


def sigmoid_case(name, rng, classes, weights, smoothing):
    n = 6
    logits, labels = grid(rng, n, classes) * 2, rng.integers(0, 2, (n, classes))
    logits[1, 0], logits[2, 1] = 90.0, -120.0
    labels[0, 1:3], labels[3] = -1, -1
    z, known = tensor(logits).requires_grad_(), torch.tensor(labels >= 0)
    target = tensor(np.maximum(labels, 0)) * (1 - smoothing) + smoothing / 2
    weight = None if weights is None else tensor(weights)
    losses = F.binary_cross_entropy_with_logits(z, target, pos_weight=weight, reduction="none")
    loss = losses[known].mean()
    loss.backward()
    return case(name, "multi", classes, labels, logits, weights, smoothing, loss, z.grad)


def case(name, kind, classes, labels, logits, weights, smoothing, loss, grad):
    return [
        f"case {name}",
        f"kind {kind}",
        f"classes {classes}",
        line("labels", labels),
        line("weights", [] if weights is None else weights),
        line("smoothing", smoothing),
        line("logits", logits),
        line("loss", loss.detach()),
        line("grad", grad),
    ]


def loss_cases(rng):
    weights = [0.5, 2.0, 1.25, 0.0, 3.0]
    for kind, make in [("softmax", softmax_case), ("sigmoid", sigmoid_case)]:
        for smoothing in (0.0, 0.125):
            for width in (2, 5, 19):
                plain = make(f"{kind}-{width}-{smoothing}", rng, width, None, smoothing)
                weighted = make(f"{kind}-{width}-{smoothing}-weighted", rng, width, (weights * 4)[:width], smoothing)
                yield from (plain, weighted)


def write(name, cases):
    text = "\n".join("\n".join(lines) for lines in cases)
    (GOLDEN / name).write_text(f"# Written by scripts/golden_optim.py with PyTorch.\n{text}\n")


if __name__ == "__main__":
    GOLDEN.mkdir(parents=True, exist_ok=True)
    write("optim.txt", (optimiser_case(name, np.random.default_rng(3)) for name in OPTIMISERS))
    write("loss.txt", loss_cases(np.random.default_rng(4)))
