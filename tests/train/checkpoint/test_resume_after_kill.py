"""SIGKILL at random instants, resume, and the same bits: the tiny run by default, real detectors as a proof.

HOLDFAST_KILLS and HOLDFAST_KILL_SEED choose how often and when: `HOLDFAST_KILLS=50 make proof`. The interrupted
attempts of the detectors are forked with the imports made; the run that they must equal is started afresh.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.train.kills import (
    KILLS,
    ROOT,
    SEED,
    chains,
    environment_for,
    fresh,
    killed_and_resumed,
    note,
    same_end,
    whole_run,
)  # fmt: skip
from tests.train.nursery import Nursery

pytestmark = [pytest.mark.hot, pytest.mark.long(20)]


def ended(folder: Path) -> str:
    return (folder.parent / f"{folder.name}.log").read_text().splitlines()[-1]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", ["tensorflow", pytest.param("jax", marks=pytest.mark.proof)])
def test_killed_at_random_instants_it_ends_with_the_same_bits(backend: str, tmp_path: Path) -> None:
    pytest.importorskip(backend)
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


@pytest.mark.proof
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
@pytest.mark.parametrize("detector", ["ssd", "retinanet", "faster-rcnn"])
def test_a_detector_killed_at_random_instants_ends_with_the_same_bits(
    detector: str, backend: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = whole_run(detector, backend, tmp_path_factory)
    dice = random.Random(f"{SEED} {backend} {detector}")
    nursery = Nursery(ROOT, environment_for(backend, whole.folder.parent))

    def chain(number: int, kills: int) -> list[str]:
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        (folder / "recipe.toml").write_text(whole.recipe)
        struck = killed_and_resumed(nursery.start, folder, steps=8, kills=kills, dice=dice)
        same_end(whole.folder, folder)
        note(detector, backend, struck)
        return struck

    chains(KILLS or 3, chain)
    nursery.close()
