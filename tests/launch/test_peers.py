"""Groups of real JAX processes: the same numbers as one process, through kills and changes of their number."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import numpy as np
import pytest

from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.train.checkpoint import checkpoint_files
from tests.launch.test_group import Group

pytestmark = [pytest.mark.hot, pytest.mark.proof, pytest.mark.timeout(3600)]

KILLS = int(os.environ.get("HOLDFAST_KILLS", "20"))
LONG_S = 3000.0


def finished(folder: Path, count: int, *more: str) -> Path:
    code, log = Group(folder, count, *more, peer="tiny").ended(LONG_S)
    assert code == 0, log[-3000:]
    return folder


def losses(folder: Path) -> dict[int, float]:
    seen = [one.event for one in reader.read(folder / "journal.jsonl") if isinstance(one.event, ev.LossSeen)]
    return {one.step: one.logs["loss"] for one in seen if one.gradient_norm is not None}


def weights(folder: Path, step: int = 60) -> dict[str, np.ndarray]:
    groups = checkpoint_files.read(folder / "checkpoints" / f"step-{step}").groups
    return {f"{group}/{name}": value for group in sorted(groups) for name, value in groups[group].items()}


def apart(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> float:
    assert sorted(first) == sorted(second)
    return max(float(np.abs(first[name] - second[name]).max()) for name in first)


def test_two_and_four_processes_are_as_one(tmp_path: Path) -> None:
    one = finished(tmp_path / "one", 1)
    for count in (2, 4):
        many = finished(tmp_path / f"of-{count}", count)
        curve = losses(one)
        shared = [step for step in losses(many) if step in curve]
        assert len(shared) >= 4
        off = max(abs(losses(many)[step] / curve[step] - 1) for step in shared)
        far = apart(weights(one), weights(many))
        print(f"{count} processes: loss off by {off:.1e}, weights by {far:.1e}")
        assert off < 1e-5
        assert far < 5e-6


def test_stopped_and_resumed_by_other_numbers_of_processes(tmp_path: Path) -> None:
    whole = finished(tmp_path / "whole", 1)
    folder = tmp_path / "changing"
    for count, until in ((2, 15), (4, 30), (1, 40)):
        group = Group(folder, count, "--resume", "--step-s", "0.2", peer="tiny")
        group.trainer_at(0, until)
        group.process.send_signal(signal.SIGTERM)
        code, log = group.ended(LONG_S)
        assert code == 143, log[-3000:]
    finished(folder, 2, "--resume")
    far = apart(weights(whole), weights(folder))
    print(f"weights off by {far:.1e} after 2, 4, 1 and 2 processes")
    assert far < 5e-6


def test_one_of_two_killed_at_random_many_times_ends_with_the_same_bits(tmp_path: Path) -> None:
    whole = finished(tmp_path / "whole", 2, "--steps", "200")
    dice = random.Random(10)
    group = Group(tmp_path / "killed", 2, "--steps", "200", "--step-s", "0.02", peer="tiny")
    for number in range(KILLS):
        rank = dice.randrange(2)
        at = 8 * (number + 1) + dice.randrange(8)
        os.kill(group.trainer_at(rank, min(at, 190), number + 1), signal.SIGKILL)
    code, log = group.ended(LONG_S)
    assert code == 0, log[-3000:]
    assert log.count("was ended by SIGKILL") == KILLS
    assert log.rstrip().endswith(f"group 0 {KILLS + 1}")
    first, second = weights(whole, 200), weights(tmp_path / "killed", 200)
    assert all(np.array_equal(first[name], second[name]) for name in first)
