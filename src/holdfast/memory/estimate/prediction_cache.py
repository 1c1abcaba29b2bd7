"""Asking the worker, and remembering what it said: the same question is compiled once."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast import atomic_write
from holdfast.data.images.facts_cache import cache_folder
from holdfast.errors import HoldfastError
from holdfast.memory.gpu_catalogue import GpuSpec
from holdfast.memory.step_config import StepConfig, fingerprint
from holdfast.subprocess_json import Reply
from holdfast.subprocess_json import ask as ask_process

TIMEOUT_S = 1800.0


class PredictionFailed(HoldfastError):
    """The step could not be built or compiled for a prediction."""

    slug = "plan-no-answer"
    advice = "fix the error above; `holdfast train` with the same recipe explains it at length"


def run_worker(
    setup: StepConfig,
    batches: Sequence[tuple[int, int]],
    card: GpuSpec | None,
    *,
    python: str = sys.executable,
) -> dict[str, Any]:
    """The worker's answers for these (batch, micro-batch), freshly made."""
    asked = {
        "setup": setup.as_json(), "batches": [list(pair) for pair in batches],
        "card": card.slug if card else None, "memory_bytes": card.memory_bytes if card else 0,
    }  # fmt: skip
    reply = ask_process(
        "holdfast.memory.estimate.prediction_worker", question=asked, python=python, timeout_s=TIMEOUT_S
    )
    if reply.answer is None:
        raise PredictionFailed(
            "the training step could not be built to predict its memory",
            where=setup.short(),
            found=_reason(reply),
            change="pip install 'holdfast[jax]'" if b"No module named" in reply.stderr else "",
        )
    answer: dict[str, Any] = reply.answer
    return answer


def count_weights(setup: StepConfig, *, python: str = sys.executable) -> dict[str, int]:
    """The numbers of weights, where JAX is missing or the step cannot be traced."""
    question = {"setup": setup.as_json()}
    reply = ask_process(
        "holdfast.memory.estimate.parameter_count", question=question, python=python, timeout_s=TIMEOUT_S
    )
    if reply.answer is None:
        raise PredictionFailed(
            "the detector could not be built to count its weights", where=setup.short(), found=_reason(reply)
        )
    found: dict[str, int] = reply.answer
    return found


def _reason(reply: Reply) -> str:
    return reply.ending if reply.timed_out else reply.last_line or reply.ending


class PredictionCache:
    """Answers kept on disk under the fingerprint of all that decides them: setup, card, versions, our source."""

    def __init__(self, folder: Path | None = None, *, python: str = sys.executable) -> None:
        self.folder = folder or prediction_folder() / "predictions"
        self.python = python
        self.compiled = 0  # how many were made new

    def answers(
        self, setup: StepConfig, batches: Sequence[tuple[int, int]], card: GpuSpec | None
    ) -> list[dict[str, Any]]:
        """One answer for each (batch, micro-batch); what is not known yet is asked in one process."""
        names = [self.folder / f"{self._key(setup, pair, card)}.json" for pair in batches]
        found = [_read(name) for name in names]
        missing = [pair for pair, one in zip(batches, found, strict=True) if one is None]
        fresh: dict[tuple[int, int], dict[str, Any]] = {}
        if missing:
            answer = run_worker(setup, missing, card, python=self.python)
            if "error" in answer:
                raise _error_from_json(answer["error"])
            fresh = dict(zip(missing, answer["answers"], strict=True))
            self.compiled += len(fresh)
        for name, pair in zip(names, batches, strict=True):
            if pair in fresh:
                _write(name, fresh[pair])
        return [one if one is not None else fresh[pair] for pair, one in zip(batches, found, strict=True)]

    def _key(self, setup: StepConfig, pair: tuple[int, int], card: GpuSpec | None) -> str:
        described = fingerprint({"text": card.described()}) if card else "none"
        model = {**setup.model.as_json(), "backend": "jax"}
        return fingerprint(
            {"model": model, "pair": list(pair), "card": described, "source": _source_fingerprint()}
        )


def prediction_folder() -> Path:
    return cache_folder() / "memory"


@functools.cache
def _source_fingerprint() -> str:
    """A fingerprint of what the step is made by: our own source, and the versions of what compiles it."""
    from importlib.metadata import PackageNotFoundError, version

    package = Path(__file__).resolve().parents[2]
    files = [
        path for part in ("detectors", "step", "memory") for path in sorted((package / part).rglob("*.py"))
    ]
    files.append(package / "pipeline" / "device_transforms.py")
    seen = {str(path.relative_to(package)): path.read_text() for path in files}
    for name in ("jax", "jaxlib", "keras", "jax-cuda13-pjrt"):
        with contextlib.suppress(PackageNotFoundError):
            seen[name] = version(name)
    return fingerprint(seen)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, content: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # a full or read-only home: compiled again next time
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write.write_text(path, json.dumps(content), sync=False)


def _error_from_json(content: dict[str, Any]) -> HoldfastError:
    from holdfast.memory.estimate.aot_compile import NoCompiler

    kind = NoCompiler if content.get("error") == NoCompiler.slug else PredictionFailed
    return kind(content["what"], where=content["where"], found=content["found"], change=content["change"])
