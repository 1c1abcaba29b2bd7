"""What runs on this machine took beyond their predictions: kept in a file, shown, and added to the next one.

A card, a version of JAX and a method have a correction of their own; another version starts anew, since the
compiler is another. The correction is the largest of the last few excesses, never below zero: a prediction that
was too high is no reason to come closer to the limit.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast.memory.estimate.prediction_cache import prediction_folder

REMEMBERED = 20


@dataclass(frozen=True, slots=True)
class PredictionRecord:
    """One run: what was predicted, by which method, and what was measured."""

    card: str
    jax: str
    setup: str
    predicted_bytes: int
    measured_bytes: int

    @property
    def excess_bytes(self) -> int:
        return self.measured_bytes - self.predicted_bytes


def file() -> Path:
    return prediction_folder() / "measured.jsonl"


def add(seen: PredictionRecord, path: Path | None = None) -> None:
    path = path or file()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a") as out:
            out.write(json.dumps(asdict(seen)) + "\n")


def read(path: Path | None = None) -> list[PredictionRecord]:
    try:
        lines = (path or file()).read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError):  # a torn last line
            found.append(PredictionRecord(**json.loads(line)))
    return found


def correction(seen: list[PredictionRecord], card: str, jax: str) -> int:
    """The largest excess of the last runs on this card with this version; one of each setup counts, the latest."""
    latest: dict[str, int] = {}
    for one in seen:
        if one.card == card and one.jax == jax:
            latest.pop(one.setup, None)
            latest[one.setup] = one.excess_bytes
    return max([0, *list(latest.values())[-REMEMBERED:]])


def correction_for_gpu(card: str, path: Path | None = None) -> int:
    return correction(read(path), card, jax_version())


def jax_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("jax")
    except PackageNotFoundError:
        return ""


def as_lines(seen: list[PredictionRecord]) -> list[dict[str, Any]]:
    return [{**asdict(one), "excess_bytes": one.excess_bytes} for one in seen]
