"""SIGKILL at random instants: when it comes, who gets it, and what is noted of it for a person.

HOLDFAST_KILLS and HOLDFAST_KILL_SEED choose how often and when. HOLDFAST_KILL_LOG names a file that gets a line for
each interrupted run: in which phase and at which step every kill struck. HOLDFAST_KILL_WHOLE names a folder that keeps
the runs that were not interrupted, with what XLA compiled: for several sessions with one version of the trainer.
"""

from __future__ import annotations

import json
import os
import random
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
from tests.train.nursery import Child

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("HOLDFAST_KILLS", "0"))
SEED = int(os.environ.get("HOLDFAST_KILL_SEED", "0"))
KEPT = os.environ.get("HOLDFAST_KILL_WHOLE", "")


def environment_for(backend: str, folder: Path) -> dict[str, str]:
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2"}
    # What XLA compiled is kept between the attempts: the same code, without the minutes.
    return environment | {
        "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


Process = subprocess.Popen[bytes] | Child
Start = Callable[[list[str], Path], Process]


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
IN_A_CHAIN = 20


def instants(dice: random.Random, steps: int, kills: int) -> list[Instant]:
    """Of one run from its first step to its last, in the order of the steps."""
    at = sorted(dice.choice([0, dice.randrange(steps), dice.randrange(steps), steps]) for _ in range(kills))
    return [Instant(step, dice.choice(PHASES), dice.uniform(0, 0.05)) for step in at]


def kill_at(child: Process, folder: Path, instant: Instant) -> str:
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
    start: Start,
    folder: Path,
    *,
    steps: int,
    kills: int,
    dice: random.Random,
    between: Callable[[], str] = str,
) -> list[str]:
    """Kills `kills` times at random instants, then lets it finish. Returns where each kill struck. `between` attempts
    something else may happen to the run; the word it returns is noted with the kill."""
    folder.mkdir(exist_ok=True)
    output = folder.parent / f"{folder.name}.log"
    struck: list[str] = []
    for instant in instants(dice, steps, kills):
        child = start([str(folder), "--resume"], output)
        where = kill_at(child, folder, instant)
        assert child.wait() in (0, -9), output.read_text()[-3000:]
        if not where:
            break  # it has ended: no later instant is left
        struck.append(where + between())
    last = start([str(folder), "--resume"], output)
    assert last.wait(timeout=3000) == 0, output.read_text()[-3000:]
    return struck


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


@dataclass(frozen=True)
class Whole:
    """A run of a real detector as a user starts it, never interrupted: what the killed ones must equal."""

    folder: Path  # of the run; what XLA compiled for it is beside it
    recipe: str


_WHOLE: dict[tuple[str, str], Whole] = {}


def whole_run(detector: str, backend: str, folders: pytest.TempPathFactory) -> Whole:
    """Made once for all tests of a session, or of all sessions with one HOLDFAST_KILL_WHOLE."""
    if (detector, backend) in _WHOLE:
        return _WHOLE[detector, backend]
    name = f"{detector}-{backend}"
    folder = Path(KEPT) / name if KEPT else folders.mktemp(name)
    data = json.dumps(str(folder / "shapes"))
    whole = Whole(folder / "whole", RECIPE.format(data=data, detector=detector, backend=backend))
    if (whole.folder / "model.npz").exists():
        return whole
    shapes.write(folder / "shapes", 20)
    whole.folder.mkdir()
    (whole.folder / "recipe.toml").write_text(whole.recipe)
    start = fresh("holdfast.train", backend)
    killed_and_resumed(start, whole.folder, steps=8, kills=0, dice=random.Random(0))
    _WHOLE[detector, backend] = whole
    return whole


def weights_of(folder: Path) -> str:
    events = [one.event for one in reader.read(folder / "journal.jsonl")]
    return [one.sha256 for one in events if isinstance(one, ev.WeightsHashed)][-1]


def same_end(whole: Path, killed: Path) -> None:
    same_state(whole, killed)
    assert (killed / "results.csv").read_text() == (whole / "results.csv").read_text()


def same_state(whole: Path, killed: Path) -> None:
    assert weights_of(killed) == weights_of(whole)
    same_model(whole, killed)


def same_model(whole: Path, killed: Path) -> None:
    """The last checkpoint, array by array, what is counted beside them, and the model."""
    ends = [checkpoint_files.read(run / "checkpoints" / "step-8") for run in (whole, killed)]
    assert checkpoint_files.digest_of(ends[0].groups) == checkpoint_files.digest_of(ends[1].groups)
    assert ends[0].meta["progress"] == ends[1].meta["progress"]
    models = [{"model": checkpoint_files._arrays(run / "model.npz")} for run in (whole, killed)]
    assert checkpoint_files.digest_of(models[0]) == checkpoint_files.digest_of(models[1])
