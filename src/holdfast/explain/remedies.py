"""Remedies that several causes give."""

from __future__ import annotations

import enum
from dataclasses import replace

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Finding, Remedy
from holdfast.journal import events as ev


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


def for_program(finding: Finding, evidence: Evidence) -> Finding:
    """With remedies whose code is that of the framework which the program uses."""
    program = program_of(evidence)
    return replace(finding, remedies=[replace(one, program=program) for one in finding.remedies])


def program_of(evidence: Evidence) -> str:
    """keras, also for other TensorFlow; torch; jax; recipe: a run of our own trainer; "" where nothing is known."""
    opened = evidence.opened
    if opened is not None and opened.event.watch == "train":
        return "recipe"
    loops = {one.event.by for one in evidence.all(ev.LoopSeen)}
    names = {one.event.name for one in evidence.all(ev.FrameworkSeen)}
    if not evidence.fits:
        if "torch_optimizer" in loops:
            return "torch"
        if "jax" in loops and not loops & {"apply_gradients", "tf_function", "train_on_batch"}:
            return "jax"
    for name, program in (("keras", "keras"), ("tensorflow", "keras"), ("torch", "torch"), ("jax", "jax")):
        if name in names:
            return program
    return ""
