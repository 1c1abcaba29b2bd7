"""The processor does not know an instruction of the program."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped


@cause("illegal-instruction", Group.ENVIRONMENT, specialises=("native-crash",))
def illegal_instruction(evidence: Evidence) -> Finding | None:
    if evidence.exit_signal != "SIGILL":
        return None
    facts = [
        Fact("it ended on SIGILL, an instruction that this processor does not know", evidence.exit_source)
    ]
    printed = evidence.output.last(r"Illegal instruction|compiled to use \S+ instructions")
    facts += [Fact(clipped(printed.text, 140), printed.source)] if printed is not None else []
    if not evidence.step:
        facts.append(Fact("before any training step", "beats"))
    return Finding(
        "illegal-instruction",
        Strength.ESTABLISHED,
        "the processor does not know an instruction of a library (SIGILL)",
        tuple(facts),
        (),
        (
            Remedy(
                "a machine with AVX, or a build for older processors",
                "your-choice",
                "grep -o -m1 avx /proc/cpuinfo",
            ),
        ),
    )
