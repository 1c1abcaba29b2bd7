"""A generator was read by several threads at once."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line


@cause("generator-not-thread-safe", Group.PROCESSES, specialises=("script-error",))
def generator_not_thread_safe(evidence: Evidence) -> Finding | None:
    said = matched(evidence, r"generator already executing")
    if said is None:
        return None
    data = evidence.data()
    facts = [said[1], *users_line(evidence)]
    if data is not None and data.event.workers:
        facts.append(Fact(f"{data.event.workers} workers read it", data.source))
    return Finding(
        "generator-not-thread-safe",
        Strength.ESTABLISHED,
        "a plain generator was read by several threads at once",
        tuple(facts),
        (),
        (
            Remedy(
                "a class with __getitem__, which any number of workers can read",
                "your-choice",
                "class Batches(keras.utils.PyDataset): …",
            ),
            Remedy("one worker", "your-choice", "workers=1"),
        ),
    )
