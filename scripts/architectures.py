#!/usr/bin/env python3
"""Every architecture in every order on one or more graphs, as a Markdown table.

usage: scripts/architectures.py target/release/iglu FILE.npz... [--seeds 3] [--orders inverted,exact] [--hidden 64]

Prints one line per run, and at the end the test score (mean and standard deviation over seeds) with the mean epoch of
the chosen model and training seconds. Standard library only.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

NAMES = ["gcn", "sage", "saint", "gin", "gat", "gcnii", "gcnii 16", "appnp", "pna", "virtual"]
ORDERS = ["inverted", "inverted-printed", "backprop", "exact"]


def flags(name, order):
    layer, _, depth = name.partition(" ")
    out = ["--layer", layer, "--order", order]
    if depth:
        out += ["--layers", depth]
    elif layer == "appnp":
        out += ["--layers", "5"]
    if order == "exact":
        out += ["--epochs", "60"]
    elif order != "inverted":
        out += ["--epochs", "20", "--set", "train.proximal=off"]
    return out


def run(binary, data, seed, more):
    with tempfile.TemporaryDirectory() as out:
        command = [binary, "train", data, "--json", "--quiet", "--seed", str(seed), "--out", out, *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    return json.loads(done.stdout)


def cell(runs):
    good = [r for r in runs if r]
    if not good:
        return "failed"
    scores = [100 * r["test"] for r in good]
    spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
    epoch = statistics.mean(r["best_epoch"] for r in good)
    seconds = statistics.mean(r["seconds"]["train"] for r in good)
    lost = f", {len(runs) - len(good)} failed" if len(good) < len(runs) else ""
    return f"{statistics.mean(scores):.1f} ± {spread:.1f} ({epoch:.0f}, {seconds:.0f} s{lost})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--orders", default=",".join(ORDERS))
    parser.add_argument("--hidden", default="64")
    args = parser.parse_args()
    orders = args.orders.split(",")
    for data in args.files:
        table = []
        for name in NAMES:
            row = [name]
            for order in orders:
                more = flags(name, order) + ["--hidden", args.hidden]
                row.append(cell([run(args.binary, data, seed, more) for seed in range(args.seeds)]))
                print(os.path.basename(data), name, order, row[-1], flush=True)
            table.append(row)
        print(f"\n{os.path.basename(data)}: test score in % ± deviation over {args.seeds} seeds (epoch, seconds)\n")
        print("| architecture | " + " | ".join(orders) + " |")
        print("|---|" + "---|" * len(orders))
        for row in table:
            print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
