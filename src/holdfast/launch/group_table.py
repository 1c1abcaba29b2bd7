"""The group at a glance: written beside the run every two seconds, shown by `holdfast launch view RUN`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from holdfast import atomic_write
from holdfast.errors import NotARun
from holdfast.journal.step_timing import COLLECTIVE, LOCAL_WORK
from holdfast.launch.group_health import ProcessStatus
from holdfast.regular_file import read_json

TABLE_FILE = "group.json"
_MOST_BYTES = 64 << 20
EVERY_S = 2.0
_STATE_TEXT = {LOCAL_WORK: "computes", COLLECTIVE: "waits for others"}
_COLUMN_TITLES = (
    "process",
    "host",
    "step",
    "phase",
    "now",
    "own s/step",
    "data s/step",
    "round trip",
    "heard",
)


def group_rows(seen: Iterable[ProcessStatus], now: float) -> list[dict[str, Any]]:
    return [
        {
            "rank": one.rank, "host": one.host, "pid": one.pid, "running": one.running, "step": one.step,
            "phase": one.phase, "doing": _STATE_TEXT.get(one.pace, ""), "heard_s": round(now - one.heard_at, 1),
            "own_s": round(one.rates[-1].own_s, 4) if one.rates else None,
            "data_s": round(one.rates[-1].data_s, 4) if one.rates else None,
            "round_trip_s": round(one.round_trip_s, 5) if one.round_trip_s is not None else None,
        }
        for one in sorted(seen, key=lambda one: one.rank)
    ]  # fmt: skip


def write(folder: Path, found: list[dict[str, Any]], *, attempt: int, at: float) -> None:
    text = json.dumps({"at": at, "attempt": attempt, "processes": found})
    with contextlib.suppress(OSError):  # those who watch it report a full disk
        atomic_write.write_text(
            folder / TABLE_FILE, text, sync=False, private=True
        )  # made again in two seconds


def read(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = read_json(folder / TABLE_FILE, most=_MOST_BYTES, links=False)
        render(found, 0.0)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise NotARun(
            "no group was conducted in this folder",
            where=folder,
            change="holdfast launch RECIPE starts one",
        ) from None
    return found


def render(found: dict[str, Any], now: float) -> str:
    """A table, and how old it is."""
    table = [_COLUMN_TITLES] + [_cells(one) for one in found["processes"]]
    widths = [max(len(row[column]) for row in table) for column in range(len(_COLUMN_TITLES))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join([f"attempt {found['attempt']}, seen {now - found['at']:.0f} s ago", *lines])


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    def number(value: float | None, digits: int = 3) -> str:
        return "" if value is None else f"{value:.{digits}f}"

    doing = one["doing"] if one["running"] else "not running"
    trip = "" if one["round_trip_s"] is None else f"{one['round_trip_s'] * 1000:.1f} ms"
    return (
        str(one["rank"]), one["host"], str(one["step"]), one["phase"], doing, number(one["own_s"]),
        number(one["data_s"]), trip, f"{one['heard_s']:.1f} s ago",
    )  # fmt: skip
