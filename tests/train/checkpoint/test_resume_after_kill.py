"""SIGKILL at random instants, resume, and the same bits: the tiny run by default, real detectors as a proof.

HOLDFAST_KILLS and HOLDFAST_KILL_SEED choose how often and when: `HOLDFAST_KILLS=50 make proof`. HOLDFAST_KILL_LOG
names a file that gets a line for each interrupted run: in which phase and at which step every kill struck. The
interrupted attempts of the detectors are forked with the imports made; the run that they must equal is started afresh.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.journal.beats import Beat, BeatReader, Phase
from holdfast.train.checkpoint import checkpoint_files
from tests.train import shapes
from tests.train.nursery import Child, Nursery

pytestmark = [pytest.mark.hot, pytest.mark.long(20)]

ROOT = Path(__file__).parents[3]
KILLS = int(os.environ.get("HOLDFAST_KILLS", "0"))
SEED = int(os.environ.get("HOLDFAST_KILL_SEED", "0"))


def environment_for(backend: str, folder: Path) -> dict[str, str]:
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2"}
    # What XLA compiled is kept between the attempts: the same code, without the minutes.
    return environment | {"JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
                          "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2"}  # fmt: skip


Start = Callable[[list[str], Path], "subprocess.Popen[bytes] | Child"]


def fresh(module: str, backend: str) -> Start:
    """Attempts as a user starts them: the interpreter, the imports, the run."""

    def start(arguments: list[str], output: Path) -> subprocess.Popen[bytes]:
        with output.open("ab") as file:
            return subprocess.Popen(
                [sys.executable, "-m", module, *arguments], cwd=ROOT, env=environment_for(backend, output.parent),
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip

    return start


@dataclass(frozen=True)
class Instant:
    """When to kill: once `step` is reached and the trainer is in `phase`, or anywhere; then `delay_s` later."""

    step: int
    phase: Phase | None
    delay_s: float

    def has_come(self, beat: Beat) -> bool:
        """Not every phase comes at every step: two steps later, any will do."""
        reached = beat.step >= self.step
        return reached and (self.phase in (None, beat.phase) or beat.step > self.step + 2)


#: Besides "wherever it is": while a step is compiled, a batch awaited, the state saved or validated, and at the end.
PHASES = (None, None, None, Phase.COMPILE, Phase.DATA_WAIT, Phase.SAVE, Phase.VALIDATION, Phase.AFTER)
IN_A_CHAIN = 10


def instants(dice: random.Random, steps: int, kills: int) -> list[Instant]:
    """Of one run from its first step to its last, in the order of the steps."""
    at = sorted(dice.choice([0, dice.randrange(steps), dice.randrange(steps), steps]) for _ in range(kills))
    return [Instant(step, dice.choice(PHASES), dice.uniform(0, 0.05)) for step in at]


def kill_at(child: subprocess.Popen[bytes] | Child, folder: Path, instant: Instant) -> str:
    """Kills it then, and returns the phase and step that it was in; nothing when it ended before that."""
    beats = BeatReader(folder / "beats")
    while child.poll() is None:
        newest = beats.newest()
        if newest is not None and newest.pid == child.pid and instant.has_come(newest):
            time.sleep(instant.delay_s)
            child.kill()
            last = beats.newest() or newest
            return f"{last.phase.label}@{last.step}" if child.wait() != 0 else ""
        time.sleep(0.0005)
    return ""


def killed_and_resumed(
    start: Start, folder: Path, *, steps: int, kills: int, dice: random.Random
) -> list[str]:
    """Kills `kills` times at random instants, then lets it finish. Returns where each kill struck."""
    folder.mkdir(exist_ok=True)
    output = folder.parent / f"{folder.name}.log"
    struck = []
    for instant in instants(dice, steps, kills):
        child = start([str(folder), "--resume"], output)
        struck.append(kill_at(child, folder, instant))
        assert child.wait() in (0, -9), output.read_text()[-3000:]
    last = start([str(folder), "--resume"], output)
    assert last.wait(timeout=3000) == 0, output.read_text()[-3000:]
    return [where for where in struck if where]


def chains(kills: int, run: Callable[[int, int], list[str]]) -> list[str]:
    """`run(number, kills)` until so many kills have struck, a few in each run: one that is killed at its end has no
    other instant left, and one that ends before its kill comes was not killed."""
    struck: list[str] = []
    number = 0
    while len(struck) < kills:
        number += 1
        struck += run(number, min(IN_A_CHAIN, kills - len(struck)))
    return struck


def note(detector: str, backend: str, struck: list[str]) -> None:
    """For a person, where HOLDFAST_KILL_LOG says: what was killed where, of a run that ended as it must."""
    if struck and (log := os.environ.get("HOLDFAST_KILL_LOG")):
        with open(log, "a") as file:
            file.write(f"{detector} {backend} seed {SEED}: {len(struck)} kills: {' '.join(struck)}\n")


def ended(folder: Path) -> str:
    return (folder.parent / f"{folder.name}.log").read_text().splitlines()[-1]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", ["tensorflow", pytest.param("jax", marks=pytest.mark.proof)])
def test_killed_at_random_instants_it_ends_with_the_same_bits(backend: str, tmp_path: Path) -> None:
    start = fresh("tests.train.tiny_run", backend)
    dice, whole = random.Random(f"{SEED} {backend} tiny"), tmp_path / "whole"
    killed_and_resumed(start, whole, steps=60, kills=0, dice=dice)
    assert re.fullmatch(r"finished [0-9a-f]{64}", ended(whole))

    def chain(number: int, kills: int) -> list[str]:
        folder = tmp_path / f"killed-{number}"
        struck = killed_and_resumed(start, folder, steps=60, kills=kills, dice=dice)
        assert ended(folder) == ended(whole)
        assert lineage(folder) == list(range(60))
        return struck

    note("tiny", backend, chains(KILLS or 2, chain))


def lineage(folder: Path) -> list[int]:
    """The batches that made the final weights: of every attempt, those before the step that the next went on from."""
    attempts = [[int(number) for number in line.split()] for line in attempts_of(folder / "batches.log")]
    kept: list[int] = []
    for batches in attempts:
        kept = [number for number in kept if number < batches[0]] + batches if batches else kept
    return kept


def attempts_of(log: Path) -> list[str]:
    return log.read_text().split("attempt\n")[1:]


RECIPE = (
    shapes.RECIPE
    + """
backend = "{backend}"
steps = 8
batch = 4
micro_batch = 4
ema = 0.9
deterministic = true
checkpoint_every = 2
validate_every = 6
"""
)


def weights_of(folder: Path) -> str:
    events = [one.event for one in reader.read(folder / "journal.jsonl")]
    return [one.sha256 for one in events if isinstance(one, ev.WeightsHashed)][-1]


@pytest.mark.proof
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
@pytest.mark.parametrize("detector", ["ssd", "retinanet", "faster-rcnn"])
def test_a_detector_killed_at_random_instants_ends_with_the_same_bits(
    detector: str, backend: str, tmp_path: Path
) -> None:
    data = json.dumps(str(shapes.write(tmp_path / "shapes", 20)))
    recipe = RECIPE.format(data=data, detector=detector, backend=backend)
    dice = random.Random(f"{SEED} {backend} {detector}")
    nursery = Nursery(ROOT, environment_for(backend, tmp_path))

    def chain(number: int, kills: int) -> list[str]:
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        (folder / "recipe.toml").write_text(recipe)
        start = nursery.start if kills else fresh("holdfast.train", backend)
        struck = killed_and_resumed(start, folder, steps=8, kills=kills, dice=dice)
        same_end(tmp_path / "run-0", folder)
        note(detector, backend, struck)
        return struck

    chain(0, 0)  # started as a user does, and never interrupted
    chains(KILLS or 3, chain)
    nursery.close()


def same_end(whole: Path, killed: Path) -> None:
    assert weights_of(killed) == weights_of(whole)
    ends = [checkpoint_files.read(run / "checkpoints" / "step-8") for run in (whole, killed)]
    assert checkpoint_files.digest_of(ends[0].groups) == checkpoint_files.digest_of(ends[1].groups)
    assert ends[0].meta["progress"] == ends[1].meta["progress"]
    assert (killed / "results.csv").read_text() == (whole / "results.csv").read_text()
    models = [checkpoint_files._arrays(run / "model.npz") for run in (whole, killed)]
    assert checkpoint_files.digest_of({"model": models[0]}) == checkpoint_files.digest_of(
        {"model": models[1]}
    )
