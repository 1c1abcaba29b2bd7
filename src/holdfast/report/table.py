"""Runs as lines of a terminal: `holdfast top`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from holdfast.report.overview import RunLine
from holdfast.report.text import BOLD, DIM, PLAIN, RED
from holdfast.units import short_duration, size

_BARS = "▁▂▃▄▅▆▇█"
_GREEN, _YELLOW = "\x1b[32m", "\x1b[33m"
_COLOURS = {"running": _GREEN, "finished": DIM, "stopped-early": _YELLOW, "not watched": DIM}


def render(lines: Sequence[RunLine], *, width: int = 80, colour: bool = False) -> str:
    """A heading, a line a run, and below it what was found in it. No line is wider than `width`."""
    if not lines:
        return "no runs here yet: `holdfast run -- python train.py` makes one"
    bars = min(24, width - 92)  # what is left for a sparkline beside names of a fair length
    rest = 51 + (bars + 7 if bars >= 8 else 7)
    names = max(3, min(max(3, *(len(one.name) for one in lines)), width - rest, 40))
    head = f"{'run':<{names}}  {'state':<13} {'step':>13}  {'left':>7}  {'memory':>9}  loss"
    rows = [f"{BOLD}{head}{PLAIN}" if colour else head]
    for one in lines:
        state = f"{one.state:<13}"
        if colour:
            state = _COLOURS.get(one.state, RED) + state + PLAIN
        step = f"{one.step:,}" + (f"/{one.of:,}" if one.of else "") + ("*" if one.as_printed else "")
        left = "" if one.seconds_left is None else short_duration(one.seconds_left)
        memory = size(one.memory_bytes) if one.memory_bytes else ""
        text = f"{_cut(one.name, names):<{names}}  {state} {step:>13}  {left:>7}  {memory:>9}"
        rows.append(f"{text}  {sparkline(one.losses, bars)}".rstrip())
        if one.verdict and one.state != "running":
            said = "  " + _cut(one.verdict, width - 2)
            rows.append(f"{DIM}{said}{PLAIN}" if colour else said)
    if any(one.as_printed for one in lines):
        rows.append("* as the command prints it: nothing inside reports its steps")
    return "\n".join(rows)


def render_unwatched(lines: Sequence[str], *, width: int = 80, colour: bool = False) -> str:
    """Training processes that nobody watches, each with the command to attach to it. Nothing where there are none."""
    if not lines:
        return ""
    head = "training processes that nobody watches (see: holdfast attach PID):"
    rows = [_cut(head, width), *("  " + _cut(line, width - 2) for line in lines)]
    return "\n".join([f"{DIM}{rows[0]}{PLAIN}" if colour else rows[0], *rows[1:]])


def sparkline(values: Sequence[float], width: int) -> str:
    """The values from first to last as bars, and the last as a number; nothing finite, nothing drawn."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    last = f"{finite[-1]:.3g}"
    if width < 8:
        return last
    shown = [finite[at * (len(finite) - 1) // max(1, width - 1)] for at in range(min(width, len(finite)))]
    shown = finite if len(finite) <= width else shown
    low, high = min(shown), max(shown)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[int((value - low) * scale)] for value in shown) + f" {last}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
