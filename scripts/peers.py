#!/usr/bin/env python3
"""iglu beside the results of other programs on the same graphs: seconds to a score, seconds per epoch, memory.

usage: scripts/peers.py target/release/iglu RESULTS NAME=FILE.npz[,iglu flags]... [--seeds 1] [--only-table]

RESULTS is a folder of `NAME--METHOD.json` files with `log` (per evaluated epoch `val`, `cum_s`, `cum_cpu_s`),
`preprocess_s`, `preprocess_cpu_s`, `median_epoch_s`, `best_val`, `test_at_best_val` and `peak_rss_mb`; iglu's own
results are written there too. The target is 99 % of the best validation score of any other program; seconds count
from the loaded data on, preparation included. CPU-seconds of iglu are those of the whole process, reading the
file included. A second table has the best score that each other program reaches at all, after how many seconds, and
when iglu has it. Standard library only.
"""
import argparse
import glob
import json
import os
import resource
import subprocess
import tempfile
import time


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def train(binary, data, flags, seed):
    with tempfile.TemporaryDirectory() as out:
        command = [binary, "train", data, "--json", "--quiet", "--seed", str(seed), "--out", out, *flags]
        before, wall = cpu_of_children(), time.time()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        with open(f"{out}/events.jsonl") as events:
            lines = [json.loads(line) for line in events]
    r = json.loads(done.stdout)
    # Whoever stops a run has the best network so far, of those that were tried as well.
    # The epochs that were tried first are told again when all is decided.
    scored = [e for e in lines if e["event"] in ("epoch", "tried") and e["val"] is not None]
    known = {(e["loss"], e["val"]) for e in scored if e["event"] == "tried"}
    r["scored"] = [e for e in scored if e["event"] == "tried" or (e["loss"], e["val"]) not in known]
    r["cpu_s"], r["wall_s"] = cpu_of_children() - before, time.time() - wall
    return r


def as_peer(r):
    """The result of a run of iglu in the form of the others'."""
    prepare = r["scored"][0]["seconds"]["prepare"]
    share = r["cpu_s"] / r["wall_s"]
    # What is tried out has preparations of its own: they count from when they were made.
    spent = [e["seconds"]["train"] + e["seconds"]["prepare"] - prepare for e in r["scored"]]
    log = [{"epoch": e.get("epoch", 1), "val": e["val"], "cum_s": s, "cum_cpu_s": share * s} for e, s in zip(r["scored"], spent)]
    return {"log": log, "preprocess_s": prepare, "preprocess_cpu_s": share * prepare, "epochs": r["epochs"],
            "median_epoch_s": r["seconds_per_epoch"], "best_val": r["val"], "test_at_best_val": r["test"],
            "peak_rss_mb": r["peak_rss_bytes"] / 2**20}


def seconds_to(r, score, clock=""):
    """Seconds, or with `clock` "cpu_" CPU-seconds, until a run has this validation score."""
    hit = next((q for q in r["log"] if q.get("val", 0) >= score), None)
    return r[f"preprocess_{clock}s"] + hit[f"cum_{clock}s"] if hit else float("inf")


def shown(seconds):
    return "never" if seconds == float("inf") else f"{seconds:.1f}"


def row(name, r, target):
    wall, cpu = seconds_to(r, target), seconds_to(r, target, "cpu_")
    line = (f"| {name} | {r['median_epoch_s']:.2f} | {r['best_val']:.4f} | {r['test_at_best_val']:.4f} | {shown(wall)} "
            f"| {shown(cpu)} | {r['peak_rss_mb']:.0f} |")
    return wall, line


def best_scores(ours, others):
    """For each other program: its best score, when it has it, and when each run of iglu does."""
    print("| program | best validation | s to it |" + "".join(f" {name}: s to it |" for name in ours))
    print("|---|---|---|" + "---|" * len(ours))
    for name, r in sorted(others.items(), key=lambda found: -found[1]["best_val"]):
        best = r["best_val"]
        found = [shown(seconds_to(run, best)) for run in (r, *ours.values())]
        print(f"| {name} | {best:.4f} | " + " | ".join(found) + " |")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("binary")
    p.add_argument("results")
    p.add_argument("graphs", nargs="+")
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--only-table", action="store_true")
    a = p.parse_args()
    for graph in a.graphs:
        name, rest = graph.split("=", 1)
        data, _, flags = rest.partition(",")
        for seed in range(0 if a.only_table else a.seeds):
            result = as_peer(train(a.binary, data, flags.split(), seed))
            label = " ".join(["iglu", *flags.split(), "seed", str(seed)])
            with open(f"{a.results}/{name}--{label}.json", "w") as f:
                json.dump(result, f)
        found = {os.path.basename(f)[len(name) + 2:-5]: json.load(open(f)) for f in glob.glob(f"{a.results}/{name}--*.json")}
        ours = {method: r for method, r in sorted(found.items()) if method.startswith("iglu")}
        others = {method: r for method, r in found.items() if method not in ours}
        target = 0.99 * max(r["best_val"] for r in others.values())
        print(f"\n{name}: target {target:.4f}\n")
        print("| program | s per epoch | validation | test | s to the target | CPU-s to the target | peak MB |")
        print("|---|---|---|---|---|---|---|")
        print("\n".join(line for _, line in sorted(row(m, r, target) for m, r in found.items())))
        print()
        best_scores(ours, others)


if __name__ == "__main__":
    main()
