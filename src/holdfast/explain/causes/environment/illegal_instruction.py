"""The CPU does not support an instruction of the program."""

from __future__ import annotations

from holdfast.explain.readings.end import before_first_step, end_seen
from holdfast.explain.readings.output import clipped
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause


@cause("illegal-instruction", specialises=("native-crash",))
def illegal_instruction(evidence: Evidence) -> Finding | None:
    if evidence.exit_signal != "SIGILL":
        return None
    line = evidence.output.last(r"Illegal instruction|compiled to use \S+ instructions")
    printed = [Fact("error.quoted", {"text": clipped(line.text)}, line.source)] if line is not None else []
    return Finding(
        Strength.ESTABLISHED,
        Title("illegal-instruction"),
        because=[*end_seen(evidence), *printed, *before_first_step(evidence)],
        remedies=[Remedy("cpu.use-one-with-avx")],
    )
