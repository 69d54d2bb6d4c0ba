#!/usr/bin/env python3
"""Compares the update orders on real graphs: the same network and start, the learning rate of `exact` tuned.

usage: scripts/orders.py target/release/iglu FILE.npz... [--seeds 3] [--exact-epochs 100]

Prints one line per run and at the end a Markdown table: validation and test score at the best validation epoch
(mean over seeds), training seconds, and the seconds in which the default reaches 99 % of the best validation score
of `exact`. Standard library only.
"""
import argparse
import json
import os
import subprocess
import tempfile

ORDERS = {
    "default": [],
    "inverted, no proximal": ["--set", "train.proximal=off", "--epochs", "20"],
    "inverted-printed": ["--order", "inverted-printed", "--set", "train.proximal=off", "--epochs", "20"],
    "backprop": ["--order", "backprop", "--set", "train.proximal=off", "--epochs", "20"],
}
RATES = ["0.003", "0.01", "0.03"]


def run(binary, data, seed, flags):
    with tempfile.TemporaryDirectory() as out:
        command = [binary, "train", data, "--json", "--quiet", "--seed", str(seed), "--out", out, *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    name = os.path.basename(data)
    if done.returncode:
        print(f"{name} seed {seed} {' '.join(flags)}: exit {done.returncode}: {done.stderr.strip()}", flush=True)
        return None
    r = json.loads(done.stdout)
    s = r["seconds"]["train"]
    print(f"{name} seed {seed} {' '.join(flags) or '(default)'}: val {r['val']:.4f} test {r['test']:.4f} "
          f"best {r['best_epoch']}/{r['epochs']} train {s:.1f} s", flush=True)
    return r


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def seconds_to(result, score):
    reached = [h["train_seconds"] for h in result["history"] if h["val"] >= score]
    return reached[0] if reached else float("inf")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("binary")
    p.add_argument("data", nargs="+")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--exact-epochs", default="100")
    a = p.parse_args()
    table = ["| graph | order | validation | test | training s | s to 99 % of exact's validation |", "|---|---|---|---|---|---|"]
    for data in a.data:
        default = [run(a.binary, data, s, []) for s in range(a.seeds)]
        # The rival has the same network: the operator the default chose.
        operator = ["--set", f"network.operator={default[0]['config']['network']['operator']}"]
        exact = lambda lr, s: run(a.binary, data, s, [*operator, "--order", "exact", "--epochs", a.exact_epochs, "--lr", lr])
        tuned = {lr: exact(lr, 0) for lr in RATES}
        best = max(RATES, key=lambda lr: tuned[lr]["val"] if tuned[lr] else 0)
        results = {"default": default, f"exact (lr {best})": [tuned[best]] + [exact(best, s) for s in range(1, a.seeds)]}
        for name, flags in ORDERS.items():
            if name != "default":
                results[name] = [run(a.binary, data, s, [*operator, *flags]) for s in range(a.seeds)]
        goal = 0.99 * mean([r["val"] for r in results[f"exact (lr {best})"]])
        for name, rs in results.items():
            rs = [r for r in rs if r]
            row = [mean([r["val"] for r in rs]), mean([r["test"] for r in rs]), mean([r["seconds"]["train"] for r in rs])]
            to = mean([seconds_to(r, goal) for r in rs])
            table.append(f"| {os.path.basename(data)} | {name} | {row[0]:.4f} | {row[1]:.4f} | {row[2]:.1f} | {to:.1f} |")
    print("\n".join(table))


if __name__ == "__main__":
    main()
