"""The process is suspended."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.journal import events as ev


@cause(
    "process-suspended",
    Group.PROCESSES,
    specialises=(
        "callback-blocked",
        "input-blocked",
    ),
)
def process_suspended(evidence: Evidence) -> Finding | None:
    changes = evidence.all(ev.ChildStateChanged)
    last_change = changes[-1] if changes else None
    stopped_now = last_change is not None and last_change.event.state.upper().startswith("T")
    sample = evidence.samples[-1] if evidence.samples else None
    in_sample = sample is not None and sample[1].state == "T"
    standing = evidence.stacks
    in_stacks = standing is not None and (
        standing.process.state == "T" or any(thread.state == "T" for thread in standing.process.threads)
    )
    if not (stopped_now or in_sample or (in_stacks and evidence.stall is not None)) or (
        evidence.ended is not None and evidence.exit_code == 0
    ):
        return None
    if last_change is not None and not stopped_now:
        return None
    facts = []
    if last_change is not None and stopped_now:
        facts.append(Fact("the kernel told that the process was stopped (state T)", last_change.source))
    if in_sample and sample is not None:
        facts.append(Fact("its state is T, stopped", f"vitals.jsonl:{sample[0]}"))
    if in_stacks and standing is not None:
        facts.append(Fact("all its threads are stopped", standing.source))
    return Finding(
        "process-suspended",
        Strength.ESTABLISHED,
        "the process is suspended: Ctrl-Z, or somebody sent SIGSTOP",
        tuple(facts),
        (),
        (
            Remedy(
                "let it go on", "your-choice", f"kill -CONT {sample[1].pid if sample is not None else 'PID'}"
            ),
        ),
    )
