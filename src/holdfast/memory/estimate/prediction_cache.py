"""Predictions by a worker process, cached on disk: the same step is compiled once."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from holdfast import atomic_write
from holdfast.errors import HoldfastError
from holdfast.host.cache_folder import cache_folder
from holdfast.memory.gpu_catalogue import GpuSpec
from holdfast.memory.step_config import StepConfig, fingerprint
from holdfast.subprocess_json import Reply
from holdfast.subprocess_json import ask as ask_process

TIMEOUT_S = 1800.0
OnLiveness = Callable[[tuple[int, int], dict[str, Any]], None]  # batch and micro-batch
LIVENESS = "liveness "  # begins a line of the worker: an answer without what the compiler says


class PredictionFailed(HoldfastError):
    """The step could not be built or compiled for a prediction."""

    slug = "plan-no-answer"
    advice = "fix the error above; `holdfast train` with the same recipe explains it at length"


def run_worker(
    config: StepConfig,
    batches: Sequence[tuple[int, int]],
    gpu: GpuSpec | None,
    *,
    python: str = sys.executable,
    on_liveness: OnLiveness | None = None,
) -> dict[str, Any]:
    """The worker's answers for these (batch, micro-batch), without the cache."""

    def progress(line: str) -> None:
        if on_liveness is not None and line.startswith(LIVENESS):
            early = json.loads(line.removeprefix(LIVENESS))
            on_liveness(tuple(early["sizes"]), early["answer"])

    question = {
        "setup": config.as_json(), "batches": [list(pair) for pair in batches],
        "gpu": gpu.slug if gpu else None, "memory_bytes": gpu.memory_bytes if gpu else 0,
    }  # fmt: skip
    reply = ask_process(
        "holdfast.memory.estimate.prediction_worker",
        question=question,
        python=python,
        timeout_s=TIMEOUT_S,
        on_progress=progress,
    )
    if reply.answer is None:
        raise PredictionFailed(
            "the training step could not be built to predict its memory",
            where=config.label(),
            found=_reason(reply),
            change="pip install 'holdfast[jax]'" if b"No module named" in reply.stderr else "",
        )
    answer: dict[str, Any] = reply.answer
    return answer


def count_weights(config: StepConfig, *, python: str = sys.executable) -> dict[str, int]:
    """The numbers of weights, when JAX is missing or the step cannot be traced."""
    question = {"setup": config.as_json()}
    reply = ask_process(
        "holdfast.memory.estimate.parameter_count", question=question, python=python, timeout_s=TIMEOUT_S
    )
    if reply.answer is None:
        raise PredictionFailed(
            "the detector could not be built to count its weights", where=config.label(), found=_reason(reply)
        )
    counts: dict[str, int] = reply.answer
    return counts


def _reason(reply: Reply) -> str:
    return reply.ending if reply.timed_out else reply.last_line or reply.ending


class PredictionCache:
    """Answers on disk, by a fingerprint of everything they depend on: configuration, GPU, versions, our source."""

    def __init__(self, folder: Path | None = None, *, python: str = sys.executable) -> None:
        self.folder = folder or prediction_folder() / "predictions"
        self.python = python
        self.compiled_count = 0

    def predict(
        self,
        config: StepConfig,
        batches: Sequence[tuple[int, int]],
        gpu: GpuSpec | None,
        *,
        on_liveness: OnLiveness | None = None,
    ) -> list[dict[str, Any]]:
        """One answer for each (batch, micro-batch); those not in the cache are computed in one process. `on_liveness`
        gets each of these before it is compiled."""
        paths = [self.folder / f"{self._key(config, pair, gpu)}.json" for pair in batches]
        cached = [_read(path) for path in paths]
        missing = [pair for pair, answer in zip(batches, cached, strict=True) if answer is None]
        fresh: dict[tuple[int, int], dict[str, Any]] = {}
        if missing:
            reply = run_worker(config, missing, gpu, python=self.python, on_liveness=on_liveness)
            if "error" in reply:
                raise _error_from_json(reply["error"])
            fresh = dict(zip(missing, reply["answers"], strict=True))
            self.compiled_count += len(fresh)
        for path, pair in zip(paths, batches, strict=True):
            if pair in fresh:
                _write(path, fresh[pair])
        return [
            answer if answer is not None else fresh[pair]
            for pair, answer in zip(batches, cached, strict=True)
        ]

    def _key(self, config: StepConfig, pair: tuple[int, int], gpu: GpuSpec | None) -> str:
        described = fingerprint({"text": gpu.target_config()}) if gpu else "none"
        model = {**config.model.as_json(), "backend": "jax"}
        return fingerprint(
            {"model": model, "pair": list(pair), "gpu": described, "source": _source_fingerprint()}
        )


def prediction_folder() -> Path:
    return cache_folder() / "memory"


@functools.cache
def _source_fingerprint() -> str:
    """Of what the step depends on: our own source, and the versions of the compiler."""
    from importlib.metadata import PackageNotFoundError, version

    package = Path(__file__).resolve().parents[2]
    files = [
        path for part in ("detectors", "step", "memory") for path in sorted((package / part).rglob("*.py"))
    ]
    files.append(package / "pipeline" / "device_transforms.py")
    contents = {str(path.relative_to(package)): path.read_text() for path in files}
    for name in ("jax", "jaxlib", "keras", "jax-cuda13-pjrt"):
        with contextlib.suppress(PackageNotFoundError):
            contents[name] = version(name)
    return fingerprint(contents)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        answer = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None


def _write(path: Path, content: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # a full or read-only disk: compiled again next time
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write.write_text(path, json.dumps(content), sync=False)


def _error_from_json(content: dict[str, Any]) -> HoldfastError:
    from holdfast.memory.estimate.aot_compile import NoCompiler

    kind = NoCompiler if content.get("error") == NoCompiler.slug else PredictionFailed
    return kind(content["what"], where=content["where"], found=content["found"], change=content["change"])
