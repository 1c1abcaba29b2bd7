"""`--workers N|auto|ray://HOST:PORT`: processes of this machine, or a Ray cluster.

A command chooses once, with `using`; `process_pool.run` follows the choice wherever it is called.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from holdfast.shared_limits import MAX_PROCESSES


@dataclass(frozen=True, slots=True)
class WorkerChoice:
    count: int | None = None  # processes of this machine; None for all cores
    address: str = ""  # of a Ray cluster: "auto", or ray://HOST:PORT

    @property
    def on_ray(self) -> bool:
        return bool(self.address)


_HERE = WorkerChoice()
_choice: ContextVar[WorkerChoice] = ContextVar("workers", default=_HERE)
_at_the_end: ContextVar[tuple[Callable[[], None], ...]] = ContextVar("when done", default=())


def parse(text: str) -> WorkerChoice:
    """Raises ValueError."""
    if text == "auto" or re.fullmatch(r"ray://[^\s:/]+:\d{1,5}", text):
        return WorkerChoice(address=text)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MAX_PROCESSES:
        raise ValueError(text)
    return WorkerChoice(count=int(text))


def current() -> WorkerChoice:
    return _choice.get()


@contextlib.contextmanager
def using(choice: WorkerChoice | None, *, reads: Iterable[str] = ()) -> Iterator[None]:
    """For the time of a command. `reads` are paths that every worker must see; workers read URLs themselves."""
    chosen = choice or WorkerChoice()
    token, before = _choice.set(chosen), _at_the_end.set(())
    try:
        if not chosen.on_ray:
            yield
            return
        from holdfast.data.workers import ray_cluster

        with ray_cluster.connected(chosen.address):
            ray_cluster.require_same_view(reads)
            yield
        for finish in _at_the_end.get():
            finish()
    finally:
        _choice.reset(token)
        _at_the_end.reset(before)


def when_done(finish: Callable[[], None]) -> None:
    """To be called when the command has done its work: a command may have several parts, and be killed in the last."""
    if finish not in _at_the_end.get():
        _at_the_end.set((*_at_the_end.get(), finish))


def require_visible(path: Path) -> None:
    """Where files are written by the workers: the same folder on all nodes."""
    if current().on_ray:
        from holdfast.data.workers import ray_cluster

        ray_cluster.require_same_view([str(path)])
