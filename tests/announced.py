"""What `holdfast run` announced on the terminal while a program ran: of a healthy one, a false alarm."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import reader
from holdfast.journal.events import EndlessSeen, Stalled


def announced(run_dir: Path) -> str:
    """The first alarm, in short; empty when there was none."""
    journal = run_dir / "journal.jsonl"
    for entry in reader.read(journal) if journal.exists() else []:
        match entry.event:
            case EndlessSeen(what=what, batches=batches, why=why):
                return f"announced as endless: {what}, {batches} batches, {why}"
            case Stalled(silent_for_s=silent_s, phase=phase):
                return f"announced as stalled: phase {phase}, {silent_s:.0f} s"
            case _:
                pass
    return ""
