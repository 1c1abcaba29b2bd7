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
from holdfast.data.cache import cache_folder
from holdfast.errors import HoldfastError
from holdfast.memory.cards import Card
from holdfast.memory.setup import Setup, fingerprint
from holdfast.subprocess_json import Reply
from holdfast.subprocess_json import ask as ask_process

TIMEOUT_S = 1800.0


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
    reply = ask_process("holdfast.memory.worker", question=asked, python=python, timeout_s=TIMEOUT_S)
    if reply.answer is None:
        raise NoAnswer(
            "the training step could not be built to predict its memory",
            where=setup.short(),
            found=_reason(reply),
            change="pip install 'holdfast[jax]'" if b"No module named" in reply.stderr else "",
        )
    answer: dict[str, Any] = reply.answer
    return answer


def counted(setup: Setup, *, python: str = sys.executable) -> dict[str, int]:
    """The numbers of weights, where JAX is missing or the step cannot be traced."""
    question = {"setup": setup.as_json()}
    reply = ask_process("holdfast.memory.count", question=question, python=python, timeout_s=TIMEOUT_S)
    if reply.answer is None:
        raise NoAnswer(
            "the detector could not be built to count its weights", where=setup.short(), found=_reason(reply)
        )
    found: dict[str, int] = reply.answer
    return found


def _reason(reply: Reply) -> str:
    return reply.ending if reply.timed_out else reply.last_line or reply.ending


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
