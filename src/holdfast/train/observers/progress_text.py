"""What a person sees of a run under way, as text: a block of three lines, or one plain line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.report.text import BOLD, DIM, PLAIN

CYAN = "\x1b[36m"
BAR = 24
GIB = 2**30


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """Of one place, in bytes. No limit: none is known."""

    name: str
    now: int
    peak: int
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ProgressState:
    """The newest of everything that is shown. None: not known yet."""

    step: int
    steps: int
    epoch: int
    loss: float
    parts: Mapping[str, float] = field(default_factory=dict)
    rate: float = 0.0
    images_per_s: float | None = None
    left_s: float | None = None
    wait_share: float | None = None
    memory: tuple[MemoryUsage, ...] = ()
    validation: str = ""
    saved_at: int | None = None
    doing: str = ""  # instead of steps: validating


Span = tuple[str, str]  # text and its style


def live_block(seen: ProgressState, *, width: int, colour: bool) -> list[str]:
    """Three lines, each no wider than the terminal."""
    return [_painted(spans, width, colour) for spans in (_where(seen), _learning(seen), _machine(seen))]


def plain_line(seen: ProgressState) -> str:
    """The same for a file."""
    parts = ", ".join(f"{name} {value:.3f}" for name, value in seen.parts.items())
    found = [f"step {seen.step}/{seen.steps}", f"epoch {seen.epoch}", f"loss {seen.loss:.3f} ({parts})",
             f"rate {seen.rate:.2e}"]  # fmt: skip
    if seen.images_per_s is not None:
        found.append(f"{seen.images_per_s:.1f} images/s")
    if seen.wait_share is not None:
        found.append(f"data wait {seen.wait_share:.0%}")
    found += [_memory(one) for one in seen.memory]
    if seen.left_s is not None:
        found.append(f"{span(seen.left_s)} left")
    return "  ".join(found)


def _where(seen: ProgressState) -> list[Span]:
    share = min(1.0, seen.step / max(1, seen.steps))
    full = round(share * BAR)
    spans = [(f"step {seen.step}/{seen.steps}", BOLD), ("  ", ""), ("━" * full, CYAN), ("─" * (BAR - full), DIM),
             (f" {share:.0%}", BOLD), (f"  epoch {seen.epoch}", "")]  # fmt: skip
    if seen.doing:
        return [*spans, (f"  {seen.doing}", CYAN)]
    if seen.images_per_s is not None:
        spans.append((f"  {seen.images_per_s:.1f} images/s", ""))
    if seen.left_s is not None:
        spans.append((f"  {span(seen.left_s)} left", BOLD))
    return spans


def _learning(seen: ProgressState) -> list[Span]:
    parts = [("  " + name + " ", DIM) if turn == 0 else (text, "")
             for name, value in seen.parts.items() for turn, text in ((0, ""), (1, f"{value:.3f}"))]  # fmt: skip
    return [("loss ", DIM), (f"{seen.loss:.3f}", BOLD), *parts, ("  rate ", DIM), (f"{seen.rate:.1e}", "")]


def _machine(seen: ProgressState) -> list[Span]:
    spans: list[Span] = []
    for one in seen.memory:
        label, _, numbers = _memory(one).partition(" ")
        spans += [(f"{label} ", DIM), (f"{numbers}  ", "")]
    if seen.wait_share is not None:
        spans += [("data wait ", DIM), (f"{seen.wait_share:.0%}  ", "")]
    if seen.saved_at is not None:
        spans += [("saved at ", DIM), (f"{seen.saved_at}  ", "")]
    if seen.validation:
        spans += [(seen.validation, BOLD)]
    return spans


def _memory(one: MemoryUsage) -> str:
    limit = f" of {one.limit / GIB:.1f}" if one.limit else ""
    return f"{one.name} {one.now / GIB:.1f} GiB, peak {one.peak / GIB:.1f}{limit}"


def _painted(spans: Iterable[Span], width: int, colour: bool) -> str:
    text, left = "", max(10, width - 1)
    for part, style in spans:
        shown = part[:left]
        left -= len(shown)
        text += f"{style}{shown}{PLAIN}" if colour and style and shown else shown
    return text


def span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
