"""Checkpoints and other files that could not be written."""

from pathlib import Path

from holdfast.explain.rule import Evidence, Fact, Recorded, ev


def save_failed(failed: Recorded[ev.SaveFailed] | None) -> list[Fact]:
    if failed is None:
        return []
    event = failed.event
    values = {"path": event.path, "where": event.where, "error": event.error, "free_bytes": event.free_bytes}
    return [failed.fact("save.failed", **values)]


def saved_later(
    evidence: Evidence, failed: Recorded[ev.SaveFailed], *, same_kind: bool = False
) -> list[Fact]:
    """The last save that succeeded after a failed one, of the same kind of file: the script had a way out."""
    saves = [one for one in evidence.all(ev.SaveDone) if one.line > failed.line]
    kind = Path(failed.event.path).suffix if same_kind else None
    alike = [one for one in saves if kind is None or Path(one.event.path).suffix == kind]
    return [one.fact("save.succeeded-later", path=one.event.path) for one in alike[-1:]]
