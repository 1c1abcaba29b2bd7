"""SIGKILL at random instants, resume, and the same bits: the tiny run by default, real detectors as a proof.

HOLDFAST_KILLS and HOLDFAST_KILL_SEED choose how often and when: `HOLDFAST_KILLS=50 make proof`.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.journal.beats import BeatReader
from holdfast.train import checkpoints
from tests.train import shapes

pytestmark = pytest.mark.hot

ROOT = Path(__file__).parent.parent.parent
KILLS = int(os.environ.get("HOLDFAST_KILLS", "0"))
SEED = int(os.environ.get("HOLDFAST_KILL_SEED", "0"))


def started(command: list[str], backend: str, output: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2"}
    with output.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", *command], cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT
        )


def kill_at(child: subprocess.Popen[bytes], folder: Path, step: int, delay_s: float) -> bool:
    """Kills it once its heartbeat has reached `step`. False when it ended before that."""
    beats = BeatReader(folder / "beats")
    while child.poll() is None:
        newest = beats.newest()
        if newest is not None and newest.pid == child.pid and newest.step >= step:
            time.sleep(delay_s)
            child.kill()
            return child.wait() != 0
        time.sleep(0.001)
    return False


def killed_and_resumed(
    command: list[str], folder: Path, backend: str, *, steps: int, kills: int
) -> list[int]:
    """Kills `kills` times at random instants, then lets it finish. Returns the steps that it went on from."""
    dice = random.Random(f"{SEED} {backend} {command[0]}")
    folder.mkdir(exist_ok=True)
    output = folder.parent / f"{folder.name}.log"
    for _ in range(kills):
        at = dice.choice([0, dice.randrange(steps), dice.randrange(steps), steps - 1])
        child = started([*command, str(folder), "--resume"], backend, output)
        kill_at(child, folder, at, dice.uniform(0, 0.05))
        assert child.wait() in (0, -9), output.read_text()[-3000:]
    last = started([*command, str(folder), "--resume"], backend, output)
    assert last.wait(timeout=550) == 0, output.read_text()[-3000:]
    restored = [
        one.event for one in reader.read(folder / "journal.jsonl") if isinstance(one.event, ev.Restored)
    ]
    return [event.iterations or 0 for event in restored]


def ended(folder: Path) -> str:
    return (folder.parent / f"{folder.name}.log").read_text().splitlines()[-1]


@pytest.mark.parametrize("backend", ["tensorflow", pytest.param("jax", marks=pytest.mark.proof)])
def test_killed_at_random_instants_it_ends_with_the_same_bits(backend: str, tmp_path: Path) -> None:
    command = ["tests.train.tiny_run"]
    killed_and_resumed(command, tmp_path / "whole", backend, steps=60, kills=0)
    killed_and_resumed(command, tmp_path / "killed", backend, steps=60, kills=KILLS or 2)
    assert re.fullmatch(r"finished [0-9a-f]{64}", ended(tmp_path / "whole"))
    assert ended(tmp_path / "killed") == ended(tmp_path / "whole")


RECIPE = """
[data]
train = {data}
validation_fraction = 0.2
[model]
detector = "{detector}"
backbone = "mobilenet_v2"
input = 64
[train]
backend = "{backend}"
steps = 12
batch = 4
micro_batch = 2
ema = 0.9
deterministic = true
checkpoint_every = 2
validate_every = 5
"""


def weights_of(folder: Path) -> str:
    notes = [one.event for one in reader.read(folder / "journal.jsonl") if isinstance(one.event, ev.NoteMade)]
    return str([note.facts["weights_sha256"] for note in notes if "weights_sha256" in note.facts][-1])


@pytest.mark.proof
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
@pytest.mark.parametrize("detector", ["ssd", "retinanet", "faster-rcnn"])
def test_a_detector_killed_at_random_instants_ends_with_the_same_bits(
    detector: str, backend: str, tmp_path: Path
) -> None:
    data = json.dumps(str(shapes.write(tmp_path / "shapes", 20)))
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "recipe.toml").write_text(
            RECIPE.format(data=data, detector=detector, backend=backend)
        )
    command = ["holdfast.train"]
    killed_and_resumed(command, tmp_path / "whole", backend, steps=12, kills=0)
    killed_and_resumed(command, tmp_path / "killed", backend, steps=12, kills=KILLS or 3)
    assert weights_of(tmp_path / "killed") == weights_of(tmp_path / "whole")
    ends = [checkpoints.read(tmp_path / name / "checkpoints" / "step-12") for name in ("whole", "killed")]
    assert checkpoints.digest_of(ends[0].groups) == checkpoints.digest_of(ends[1].groups)
    assert ends[0].meta["progress"] == ends[1].meta["progress"]
    tables = [(tmp_path / name / "results.csv").read_text() for name in ("whole", "killed")]
    assert tables[0] == tables[1]
