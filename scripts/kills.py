"""Kills runs of iglu at every call to the system that touches files, and goes on with each.

    python3 scripts/kills.py target/release/iglu

Needs `strace` (Linux). A run that was killed and goes on, or is begun again where it had not begun, must end with the
model, the events and the files of one that was left alone; one that was to replace another, with those of either.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SMALL = "synth:village@0.2 --quiet --hidden 16 --epochs 4 --set start=mlp --set lazy_dropout=off --set operator=mean"
OTHER = SMALL.replace("--hidden 16", "--hidden 8")
CALLS = ["openat", "write", "fsync", "fdatasync", "rename", "unlink", "close", "ftruncate", "mkdir", "flock", "getdents64"]
TIMES = {"seconds", "total_seconds", "seconds_per_epoch", "peak_rss_bytes", "command", "time", "threads"}


def iglu(binary, folder, args, kill=None):
    """Trains; `kill` is a call and which one of them is the last thing done."""
    command = [binary, "train", *args.split()]
    if kill:
        call, number = kill
        inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"]
        command = ["strace", "-f", "-o", "/dev/null", *inject, *command]
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(v) for key, v in value.items() if key not in TIMES}
    return value


def told(run):
    """Everything a run leaves, without times."""
    files = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    models = {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("best.safetensors")}
    lines = {path: path.read_text().splitlines() for path in sorted(run.rglob("events.jsonl"))}
    events = [[without_times(json.loads(line)) for line in of] for of in lines.values()]
    return {"files": files, "models": models, "events": events}


def go_on(binary, folder, flags):
    begun = any((folder / "a" / name).exists() for name in ["events.jsonl", "seeds.json"])
    return iglu(binary, folder, "--resume a" if begun else f"{flags} --out a --force")


def differences(run, wholes):
    found = told(run)
    return min(([key for key in found if found[key] != whole[key]] for whole in wholes), key=len)


def check(binary, folder, name, flags, prepare, args, wholes):
    """Kills at every call; returns how often, and how often what followed was wrong."""
    kills = wrong = 0
    for call in CALLS:
        number = 1
        while True:
            shutil.rmtree(folder / "a", ignore_errors=True)
            prepare()
            if iglu(binary, folder, args, (call, number)).returncode == 0:
                break
            kills += 1
            ended = go_on(binary, folder, flags)
            bad = ended.stderr.strip() if ended.returncode else ", ".join(differences(folder / "a", wholes))
            if bad:
                wrong += 1
                print(f"{name}, {call} {number}: {bad}")
            number += 1
    print(f"{name}: {kills} kills, {wrong} wrong")
    return wrong


def main():
    binary = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        whole = {}
        for name, flags in [("one", SMALL), ("other", OTHER), ("seeds", f"{SMALL} --seeds 2")]:
            assert iglu(binary, folder, f"{flags} --out {name}").returncode == 0, flags
            whole[name] = told(folder / name)
        new = f"{SMALL} --out a"
        seeds = f"{SMALL} --seeds 2"
        cases = [
            ("a new run", SMALL, lambda: None, new, ["one"]),
            ("one without a checkpoint", SMALL, lambda: iglu(binary, folder, new, ("fdatasync", 1)), "--resume a", ["one"]),
            ("one with a checkpoint", SMALL, lambda: iglu(binary, folder, new, ("fdatasync", 3)), "--resume a", ["one"]),
            ("another run", SMALL, lambda: shutil.copytree(folder / "other", folder / "a"), f"{new} --force", ["one", "other"]),
            ("two seeds", seeds, lambda: None, f"{seeds} --out a", ["seeds"]),
        ]
        wrong = [check(binary, folder, *case[:-1], [whole[name] for name in case[-1]]) for case in cases]
    sys.exit(int(any(wrong)))


if __name__ == "__main__":
    main()
