"""One process of a group that trains the tiny detector: `python -m tests.launch.tiny_peer FOLDER [--steps N]`.

Its place comes from the environment, as the real trainer's does; alone it is the same run in one process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.journal import group_membership
from holdfast.journal.folder import ATTEMPT_VARIABLE, RunFolder
from holdfast.train import loop_state, process_group
from holdfast.train.__main__ import StopSignal
from holdfast.train.checkpoint import checkpoint_files, resume
from holdfast.train.checkpoint.async_writer import AsyncCheckpointWriter, NullCheckpointWriter
from holdfast.train.loop import LoopEffects, TrainingLoop
from holdfast.train.loop_state import LoopState
from holdfast.train.observers.observer import JournalObserver, Observers, TrainerHeartbeat
from tests.waiting import PATIENCE_S

BATCH = 8


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--step-s", type=float, default=0.0)
    args = parser.parse_args()
    asked = StopSignal()  # before it joins, as the trainer does
    ours = group_membership.from_environment()
    if ours is not None:
        process_group.join_group(ours, devices=1)
    group = process_group.ProcessGroup(ours, asked, args.folder) if ours else None
    reason = trained(args, group, asked)
    return {"finished": 0, "SIGTERM": 143}[reason]


def trained(args: argparse.Namespace, group: process_group.ProcessGroup | None, asked: Any) -> str:
    from holdfast.step.jax_distributed import DistributedJaxStep
    from tests.train import tiny
    from tests.train.tiny_run import OPTIMIZER, PLAN

    attempt = int(os.environ.get(ATTEMPT_VARIABLE, "1"))
    rank, count = (group.rank, group.count) if group else (0, 1)
    run, folder = (
        RunFolder(args.folder),
        (RunFolder(group.folder) if group else RunFolder(args.folder)).checkpoints,
    )
    observers = Observers([JournalObserver(run, attempt)])
    pulse = TrainerHeartbeat(run, attempt)
    saver = (
        AsyncCheckpointWriter(folder, keep=3, notify=observers.notify, retry_after_s=0.05)
        if rank == 0
        else NullCheckpointWriter()
    )
    step = DistributedJaxStep(tiny.network(), OPTIMIZER, batch=BATCH, micro_batch=2, group=group)
    now = LoopState()

    def newest():
        if group:
            return group.newest_checkpoint(folder, observers.notify)
        return resume.newest_checkpoint(folder, observers.notify)

    found = newest() if args.resume or attempt > 1 else None
    if found is not None:
        step.load(found.groups)
        now = loop_state.from_json(dict(found.meta["progress"]))
    plan = replace(PLAN, steps=args.steps, schedule=replace(PLAN.schedule, steps=args.steps))

    def batches(first: int) -> Iterator[Mapping[str, Any]]:
        number, part = first, BATCH // count
        while True:
            if args.step_s or rank == args.slow_rank:
                time.sleep(args.step_s + (0.2 if rank == args.slow_rank else 0.0))
            whole = tiny.batch(number, BATCH)
            yield {name: value[rank * part : (rank + 1) * part] for name, value in whole.items()}
            number += 1

    world = LoopEffects(
        batches=batches, image_names=lambda batch: [], validate=lambda stop: {"AP": 0.0},
        serving_weights=contextlib.nullcontext, newest_checkpoint=newest, run_facts=dict, writer=saver,
        observers=observers, heartbeat=pulse, stop_signal=group.stop_signal if group else asked,
        clock=group.clock if group else time.monotonic,
    )  # fmt: skip
    loop = TrainingLoop(plan, step, now, world)
    try:
        reason = loop.run()
    finally:
        saver.close(PATIENCE_S)
    weights = np.concatenate([value.ravel() for value in step.export()["weights"].values()])
    print(reason, loop.state.step, checkpoint_files.digest_of({"w": {"w": weights}}), flush=True)
    return reason


if __name__ == "__main__":
    sys.exit(main())
