"""Remedies that several causes give."""

from __future__ import annotations

import enum

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Remedy


class Before(enum.StrEnum):
    """What must be done before a run can be resumed."""

    MAKE_ROOM = "make-room"
    RAISE_LIMIT = "raise-limit"


def resume(evidence: Evidence, *, before: Before | None = None) -> Remedy | None:
    """The command that resumes a run of our own trainer, which saves checkpoints. None for any other run."""
    opened = evidence.opened
    if opened is None or opened.event.watch != "train":
        return None
    return Remedy("run.resume", {"saved_step": evidence.saved, "before": before})
