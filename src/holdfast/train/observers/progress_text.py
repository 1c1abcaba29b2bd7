"""The progress of a run as text: a block of three lines, or one plain line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.report.text import BOLD, DIM, PLAIN
from holdfast.units import duration

CYAN = "\x1b[36m"
BAR = 24
GIB = 2**30


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """Of the host or a device, in bytes. `limit` is None when it is not known."""

    name: str
    now: int
    peak: int
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ProgressState:
    """The newest values. None: not known yet."""

    step: int
    steps: int
    epoch: int
    loss: float
    parts: Mapping[str, float] = field(default_factory=dict)
    learning_rate: float = 0.0
    images_per_s: float | None = None
    remaining_s: float | None = None
    wait_share: float | None = None
    memory: tuple[MemoryUsage, ...] = ()
    validation: str = ""
    saved_at: int | None = None
    activity: str = ""  # instead of steps: validating


Span = tuple[str, str]  # text and its style


def live_block(state: ProgressState, *, width: int, colour: bool) -> list[str]:
    """Three lines, each no wider than the terminal."""
    return [_painted(spans, width, colour) for spans in (_where(state), _learning(state), _machine(state))]


def plain_line(state: ProgressState) -> str:
    """The same, for a file."""
    parts = ", ".join(f"{name} {value:.3f}" for name, value in state.parts.items())
    fields = [f"step {state.step}/{state.steps}", f"epoch {state.epoch}", f"loss {state.loss:.3f} ({parts})",
             f"learning rate {state.learning_rate:.2e}"]  # fmt: skip
    if state.images_per_s is not None:
        fields.append(f"{state.images_per_s:.1f} images/s")
    if state.wait_share is not None:
        fields.append(f"data wait {state.wait_share:.0%}")
    fields += [_memory(usage) for usage in state.memory]
    if state.remaining_s:  # not at the last step
        fields.append(f"{duration(state.remaining_s)} left")
    return "  ".join(fields)


def _where(state: ProgressState) -> list[Span]:
    share = min(1.0, state.step / max(1, state.steps))
    full = round(share * BAR)
    spans = [(f"step {state.step}/{state.steps}", BOLD), ("  ", ""), ("━" * full, CYAN), ("─" * (BAR - full), DIM),
             (f" {share:.0%}", BOLD), (f"  epoch {state.epoch}", "")]  # fmt: skip
    if state.activity:
        return [*spans, (f"  {state.activity}", CYAN)]
    if state.images_per_s is not None:
        spans.append((f"  {state.images_per_s:.1f} images/s", ""))
    if state.remaining_s:  # not at the last step
        spans.append((f"  {duration(state.remaining_s)} left", BOLD))
    return spans


def _learning(state: ProgressState) -> list[Span]:
    parts = [("  " + name + " ", DIM) if turn == 0 else (text, "")
             for name, value in state.parts.items() for turn, text in ((0, ""), (1, f"{value:.3f}"))]  # fmt: skip
    return [
        ("loss ", DIM),
        (f"{state.loss:.3f}", BOLD),
        *parts,
        ("  lr ", DIM),
        (f"{state.learning_rate:.1e}", ""),
    ]


def _machine(state: ProgressState) -> list[Span]:
    spans: list[Span] = []
    for usage in state.memory:
        label, _, numbers = _memory(usage).partition(" ")
        spans += [(f"{label} ", DIM), (f"{numbers}  ", "")]
    if state.wait_share is not None:
        spans += [("data wait ", DIM), (f"{state.wait_share:.0%}  ", "")]
    if state.saved_at is not None:
        spans += [("saved at ", DIM), (f"{state.saved_at}  ", "")]
    if state.validation:
        spans += [(state.validation, BOLD)]
    return spans


def _memory(usage: MemoryUsage) -> str:
    """All in GiB, named once: the line must fit into a terminal."""
    limit = f" of {usage.limit / GIB:.1f}" if usage.limit else ""
    return f"{usage.name} {usage.now / GIB:.1f} GiB, peak {usage.peak / GIB:.1f}{limit}"


def _painted(spans: Iterable[Span], width: int, colour: bool) -> str:
    text, remaining = "", max(10, width - 1)
    for part, style in spans:
        shown = part[:remaining]
        remaining -= len(shown)
        text += f"{style}{shown}{PLAIN}" if colour and style and shown else shown
    return text
