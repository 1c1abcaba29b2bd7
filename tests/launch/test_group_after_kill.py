"""SIGKILL at random instants in a group of two that trains a real detector, and the same bits at the end.

Who is killed is drawn too: a trainer, the supervisor above it, or the launcher with the coordinator in it.
HOLDFAST_KILLS and HOLDFAST_KILL_SEED choose how often and when, as in tests/train/checkpoint/test_resume_after_kill.py.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.journal.beats import Beat, BeatReader
from holdfast.journal.group_membership import agent_folder
from holdfast.train.checkpoint import checkpoint_files
from tests.train import shapes
from tests.train.kills import (
    KILLS,
    RECIPE,
    ROOT,
    SEED,
    Instant,
    chains,
    environment_for,
    instants,
    note,
    same_end,
)

pytestmark = [pytest.mark.hot, pytest.mark.proof, pytest.mark.timeout(7200)]

WHO = ("trainer", "trainer", "trainer", "supervisor", "launcher")
WAIT_S = 900.0


class Launched:
    """`holdfast launch` with two processes, from the newest checkpoint if there is one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder.parent / f"{folder.name}.log"
        self.seen: dict[int, int] = {}  # of each rank, the trainer that was killed or lost its group last
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "holdfast", "launch", str(self.folder.parent / "recipe.toml")]
        words = ["--processes", "2", "--restarts", "100", "--resume", "--run-dir", str(self.folder)]
        with self.log.open("ab") as file:
            self.process = subprocess.Popen(
                [*command, *words], cwd=ROOT, env=environment_for("jax", self.folder.parent), stdin=subprocess.DEVNULL,
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def beat(self, rank: int) -> Beat | None:
        """The newest of the attempt that runs."""
        newest = BeatReader(agent_folder(self.folder, rank) / "beats").newest()
        return newest if newest is not None and newest.pid != self.seen.get(rank) else None

    def finished(self) -> bool:
        """A group that is killed twice at one step gives up by itself; it is launched again, as its user would."""
        code = self.process.poll()
        if code:
            said = self.log.read_text()[-3000:]
            assert "holdfast: not started again: it was ended by SIGKILL again" in said, said
            self.start()
        return code == 0

    def kill(self, who: str, rank: int, instant: Instant) -> str:
        """Where it struck; nothing when the group ended before that."""
        beat = None
        while beat is None or not instant.has_come(beat):
            if self.finished():
                return ""
            time.sleep(0.002)
            beat = self.beat(rank)
        time.sleep(instant.delay_s)
        trainers = {one: newest.pid for one in (0, 1) if (newest := self.beat(one)) is not None}
        victim = {"trainer": beat.pid, "supervisor": parent(beat.pid), "launcher": self.process.pid}[who]
        if victim <= 1 or self.process.poll() is not None:  # 1: its supervisor went before
            return ""
        last = self.beat(rank) or beat
        os.kill(victim, signal.SIGKILL)
        self.seen |= trainers
        if who == "launcher":
            self.process.wait()
            until = time.monotonic() + WAIT_S
            while any(alive(pid) for pid in trainers.values()):
                assert time.monotonic() < until, "a trainer outlives its coordinator"
                time.sleep(0.2)
            self.start()
        return f"{who}{rank}:{last.phase.label}@{last.step}"


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def write_recipe(folder: Path, detector: str) -> None:
    data = json.dumps(str(shapes.write(folder / "shapes", 20)))
    recipe = RECIPE.format(data=data, detector=detector, backend="jax")
    (folder / "recipe.toml").write_text(recipe.replace("micro_batch = 4", "micro_batch = 2"))


def test_a_group_that_is_preempted_saves_and_ends_with_the_same_bits(tmp_path: Path) -> None:
    """SIGTERM to the launcher, at a step that no interval saves."""
    write_recipe(tmp_path, "ssd")
    whole = Launched(tmp_path / "whole")
    assert whole.process.wait(WAIT_S) == 0, whole.log.read_text()[-3000:]
    group = Launched(tmp_path / "preempted")
    while (beat := group.beat(1)) is None or beat.step < 3:
        assert group.process.poll() is None, group.log.read_text()[-3000:]
        time.sleep(0.002)
    group.process.terminate()
    assert group.process.wait(WAIT_S) == 143, group.log.read_text()[-3000:]
    assert f"SIGTERM came from process {os.getpid()} " in group.log.read_text()
    reached = [BeatReader(agent_folder(group.folder, rank) / "beats").newest() for rank in (0, 1)]
    steps = {beat.step for beat in reached if beat is not None}
    assert len(steps) == 1, reached
    assert checkpoint_files.read(group.folder / "checkpoints" / f"step-{steps.pop()}").groups
    group.start()
    assert group.process.wait(WAIT_S) == 0, group.log.read_text()[-3000:]
    same_end(whole.folder, group.folder)


@pytest.mark.parametrize("detector", ["ssd", "retinanet", "faster-rcnn"])
def test_a_group_of_two_ends_with_the_same_bits(detector: str, tmp_path: Path) -> None:
    write_recipe(tmp_path, detector)
    dice = random.Random(f"{SEED} {detector} group")

    def killed(group: Launched, kills: int) -> list[str]:
        struck: list[str] = []
        for instant in instants(dice, 8, kills):
            where = group.kill(dice.choice(WHO), dice.randrange(2), instant)
            if not where:
                break
            struck.append(where)
        until = time.monotonic() + WAIT_S
        while not group.finished():
            assert time.monotonic() < until, group.log.read_text()[-3000:]
            time.sleep(0.2)
        return struck

    def chain(number: int, kills: int) -> list[str]:
        group = Launched(tmp_path / f"run-{number}")
        try:
            struck = killed(group, kills)
        finally:
            group.process.kill()  # of one that has ended nothing
        same_end(tmp_path / "run-0", group.folder)
        note(f"{detector} group of two", "jax", struck)
        return struck

    chain(0, 0)
    chains(KILLS or 3, chain)
