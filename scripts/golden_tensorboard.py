#!/usr/bin/env python3
"""Makes crates/iglu-report/tests/golden/tensorboard.bin with the `tensorboard` package, or reads event files with it.

usage: scripts/golden_tensorboard.py              writes the golden file
       scripts/golden_tensorboard.py RUN          prints every scalar of a run trained with --tensorboard and checks
                                                  them against its events.jsonl

Needs: pip install tensorboard
"""
import io
import json
import math
import pathlib
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

GOLDEN = pathlib.Path(__file__).parent.parent / "crates/iglu-report/tests/golden/tensorboard.bin"


def golden():
    out = io.BytesIO()
    writer = RecordWriter(out)
    writer.write(Event(wall_time=1.5, file_version="brain.Event:2").SerializeToString())
    for time, step, values in [(2.5, 1, {"loss": 0.25, "validation/accuracy": 0.875}), (3.5, 300, {"bias/layer1": 1e-3})]:
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
        writer.write(Event(wall_time=time, step=step, summary=summary).SerializeToString())
    GOLDEN.write_bytes(out.getvalue())
    print(f"{GOLDEN}: {len(out.getvalue())} bytes")


def check(run):
    reader = EventAccumulator(run, size_guidance={"scalars": 0}).Reload()
    tags = reader.Tags()["scalars"]
    for tag in tags:
        print(tag, [(e.step, round(e.value, 6)) for e in reader.Scalars(tag)])
    lines = [json.loads(line) for line in open(pathlib.Path(run) / "events.jsonl", encoding="utf-8")]
    epochs = {line["epoch"]: line for line in lines if line["event"] == "epoch"}
    for tag, key in [("loss", "loss"), ("learning_rate", "learning_rate")]:
        found = {e.step: e.value for e in reader.Scalars(tag)}
        assert found.keys() == epochs.keys(), (tag, found, epochs.keys())
        for step, value in found.items():
            assert math.isclose(value, epochs[step][key], rel_tol=1e-6, abs_tol=1e-30), (tag, step, value)
    print(f"{run}: {len(tags)} scalars over {len(epochs)} epochs agree with events.jsonl")


if __name__ == "__main__":
    check(sys.argv[1]) if len(sys.argv) > 1 else golden()
