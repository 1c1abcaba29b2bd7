"""The process may not open another file."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line
from holdfast.journal import events as ev


@cause("too-many-open-files", Group.STORAGE, specialises=("script-error",))
def too_many_open_files(evidence: Evidence) -> Finding | None:
    said = matched(evidence, r"Too many open files|\[Errno 24\]|errno ?= ?24\b")
    if said is None and not (evidence.error is not None and evidence.error.errno == 24):
        return None
    counts = [(line, s.open_files) for line, s in evidence.samples if s.open_files is not None]
    machine = evidence.last(ev.MachineRead)
    limit = machine.event.rlimits.get("nofile") if machine is not None else None
    facts = [said[1]] if said is not None else []
    facts += users_line(evidence)
    if len(counts) > 1:
        facts.append(
            Fact(
                f"open files went from {counts[0][1]} to {counts[-1][1]}",
                f"vitals.jsonl:{counts[0][0]}-{counts[-1][0]}",
            )
        )
    if limit and machine is not None:
        facts.append(Fact(f"the limit is {limit}", machine.source))
    return Finding(
        "too-many-open-files",
        Strength.ESTABLISHED,
        f"too many files are open{f': the limit is {limit}' if limit else ''}",
        tuple(facts),
        (),
        (
            Remedy(
                "close what is opened",
                "your-choice",
                'with open(path, "rb") as file:\n    data = file.read()',
            ),
            Remedy("raise the limit, if so many are needed", "your-choice", "ulimit -n 65536"),
        ),
    )
