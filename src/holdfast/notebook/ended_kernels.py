"""Runs of cells whose kernel died, explained when the extension is loaded again."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import atomic_write
from holdfast.board import bounded_read
from holdfast.board.plain_values import loaded, mapping
from holdfast.journal.folder import RunFolder

if TYPE_CHECKING:
    from holdfast.explain.finding import Verdict

_HEAD_BYTES = 64 << 10
_MOST_LOOKED_AT, _MOST_SHOWN = 30, 3
_RECENT_S = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class EndedKernel:
    folder: Path
    verdict: Verdict


def explain_ended(runs: Path, *, now: float) -> list[EndedKernel]:
    """The newest runs of cells below `runs` that never ended, and were not explained yet. Each is said once."""
    found = []
    for folder in _newest(runs, now):
        run = RunFolder(folder)
        if run.verdict.exists() or not _is_of_a_cell(run) or _still_alive(run):
            continue
        verdict = _explained(run)
        if verdict is not None:
            found.append(EndedKernel(folder, verdict))
        if len(found) == _MOST_SHOWN:
            break
    return found


def _newest(runs: Path, now: float) -> list[Path]:
    try:
        with os.scandir(runs) as entries:
            known = [
                (entry.stat(follow_symlinks=False).st_mtime, Path(entry.path))
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []
    recent = sorted((pair for pair in known if now - pair[0] < _RECENT_S), reverse=True)
    return [path for _, path in recent[:_MOST_LOOKED_AT]]


def _head(run: RunFolder) -> list[dict[str, object]]:
    try:
        return [loaded(line) for line in bounded_read.head(run.journal, _HEAD_BYTES).split(b"\n")[:20]]
    except OSError:
        return []


def _is_of_a_cell(run: RunFolder) -> bool:
    opened = next((one for one in _head(run) if one.get("kind") == "run_opened"), {})
    return mapping(opened.get("event")).get("watch") == "beside"


def _still_alive(run: RunFolder) -> bool:
    """Another notebook of this folder may be training now."""
    started = next((one for one in _head(run) if one.get("kind") == "attempt_started"), {})
    pid = mapping(started.get("event")).get("pid")
    if not isinstance(pid, int) or pid == os.getpid():
        return False
    return Path(f"/proc/{pid}").exists() and not _closed(run)


def _closed(run: RunFolder) -> bool:
    with contextlib.suppress(OSError):
        return any(b'"run_closed"' in line[:40] for line in bounded_read.last_lines(run.journal, 16 << 10))
    return False


def _explained(run: RunFolder) -> Verdict | None:
    from holdfast.explain import explain
    from holdfast.report.verdict_json import as_json

    try:
        verdict = explain(run.path)
        text = json.dumps(as_json(verdict), indent=1, ensure_ascii=False)
    except Exception:  # loading the extension must not fail for an old folder
        return None
    with contextlib.suppress(OSError):
        atomic_write.write_text(run.verdict, text + "\n", errors="backslashreplace", private=True)
    return verdict
