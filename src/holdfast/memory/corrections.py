"""How far runs on this machine exceeded their predictions: recorded in a file, and added to the next prediction.

Each GPU and version of JAX has its own correction; another version has another compiler and starts again. The
correction is the largest excess of the last runs, never below zero: a prediction that was too high is no reason to
come closer to the limit.
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
    """One run: what was predicted, and what was measured. The field names are those of the file."""

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


def add(record: PredictionRecord, path: Path | None = None) -> None:
    path = path or file()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a") as out:
            out.write(json.dumps(asdict(record)) + "\n")


def read(path: Path | None = None) -> list[PredictionRecord]:
    try:
        lines = (path or file()).read_text().splitlines()
    except OSError:
        return []
    records = []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError):  # a partial last line
            records.append(PredictionRecord(**json.loads(line)))
    return records


def correction(records: list[PredictionRecord], gpu: str, jax: str) -> int:
    """The largest excess of the last runs on this GPU with this version; of each configuration the latest counts."""
    latest: dict[str, int] = {}
    for record in records:
        if record.card == gpu and record.jax == jax:
            latest.pop(record.setup, None)
            latest[record.setup] = record.excess_bytes
    return max([0, *list(latest.values())[-REMEMBERED:]])


def correction_for_gpu(gpu: str, path: Path | None = None) -> int:
    return correction(read(path), gpu, jax_version())


def jax_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("jax")
    except PackageNotFoundError:
        return ""


def as_lines(records: list[PredictionRecord]) -> list[dict[str, Any]]:
    return [{**asdict(record), "excess_bytes": record.excess_bytes} for record in records]
