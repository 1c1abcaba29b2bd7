"""Asking the worker, and remembering what it said: the same question is compiled once."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast import atomic_write
from holdfast.data.cache import cache_folder
from holdfast.errors import HoldfastError
from holdfast.memory.cards import Card
from holdfast.memory.setup import Setup, fingerprint

LONGEST_S = 1800.0


class NoAnswer(HoldfastError):
    """The step could not be built or compiled for a prediction."""

    slug = "plan-no-answer"


def raw(
    setup: Setup, batches: Sequence[tuple[int, int]], card: Card | None, *, python: str = sys.executable
) -> dict[str, Any]:
    """The worker's answers for these (batch, micro-batch), freshly made."""
    asked = {
        "setup": setup.as_json(), "batches": [list(pair) for pair in batches],
        "card": card.slug if card else None, "memory_bytes": card.memory_bytes if card else 0,
    }  # fmt: skip
    done = _process("holdfast.memory.worker", asked, python)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise NoAnswer(
            "the step could not be built for a prediction",
            where=setup.short(),
            found=_last_words(done.stderr) or f"exit code {done.returncode}",
            change="pip install 'holdfast[jax]'" if "No module named" in done.stderr else "",
        )
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def counted(setup: Setup, *, python: str = sys.executable) -> dict[str, int]:
    """The numbers of weights, where JAX is missing or the step cannot be traced."""
    done = _process("holdfast.memory.count", {"setup": setup.as_json()}, python)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise NoAnswer("the detector could not be built to be counted", where=setup.short(),
                       found=_last_words(done.stderr))  # fmt: skip
    found: dict[str, int] = json.loads(lines[-1])
    return found


def _process(module: str, asked: dict[str, Any], python: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [python, "-m", module], input=json.dumps(asked), env=environment,
        capture_output=True, text=True, timeout=LONGEST_S, check=False,
    )  # fmt: skip


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


class Memory:
    """Answers kept on disk under the fingerprint of all that decides them: setup, card, versions, our source."""

    def __init__(self, folder: Path | None = None, *, python: str = sys.executable) -> None:
        self.folder = folder or memory_folder() / "predictions"
        self.python = python
        self.compiled = 0  # how many were made new

    def answers(
        self, setup: Setup, batches: Sequence[tuple[int, int]], card: Card | None
    ) -> list[dict[str, Any]]:
        """One answer for each (batch, micro-batch); what is not known yet is asked in one process."""
        names = [self.folder / f"{self._key(setup, pair, card)}.json" for pair in batches]
        found = [_read(name) for name in names]
        missing = [pair for pair, one in zip(batches, found, strict=True) if one is None]
        fresh: dict[tuple[int, int], dict[str, Any]] = {}
        if missing:
            answer = raw(setup, missing, card, python=self.python)
            if "error" in answer:
                raise _of_json(answer["error"])
            fresh = dict(zip(missing, answer["answers"], strict=True))
            self.compiled += len(fresh)
        for name, pair in zip(names, batches, strict=True):
            if pair in fresh:
                _write(name, fresh[pair])
        return [one if one is not None else fresh[pair] for pair, one in zip(batches, found, strict=True)]

    def _key(self, setup: Setup, pair: tuple[int, int], card: Card | None) -> str:
        described = fingerprint({"text": card.described()}) if card else "none"
        model = {**setup.model.as_json(), "backend": "jax"}
        return fingerprint({"model": model, "pair": list(pair), "card": described, "source": _source()})


def memory_folder() -> Path:
    return cache_folder() / "memory"


@functools.cache
def _source() -> str:
    """A fingerprint of what the step is made by: our own source, and the versions of what compiles it."""
    from importlib.metadata import PackageNotFoundError, version

    package = Path(__file__).resolve().parents[1]
    files = [
        path for part in ("detectors", "train", "memory") for path in sorted((package / part).glob("*.py"))
    ]
    files.append(package / "pipeline" / "device.py")
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


def _of_json(content: dict[str, Any]) -> HoldfastError:
    from holdfast.memory.ahead import NoCompiler

    kind = NoCompiler if content.get("error") == NoCompiler.slug else NoAnswer
    return kind(content["what"], where=content["where"], found=content["found"], change=content["change"])
