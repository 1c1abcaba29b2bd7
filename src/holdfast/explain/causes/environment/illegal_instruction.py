"""The CPU does not support an instruction of the program."""

from holdfast.explain.readings.end import before_first_step, end_seen
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause


@cause("illegal-instruction", specialises=("native-crash",))
def illegal_instruction(evidence: Evidence) -> Finding | None:
    if evidence.exit_signal != "SIGILL":
        return None
    line = evidence.output.last(r"Illegal instruction|compiled to use \S+ instructions")
    facts = [*end_seen(evidence), *([line.fact] if line is not None else []), *before_first_step(evidence)]
    remedies = [Remedy("cpu.use-one-with-avx")]
    return Finding(Strength.ESTABLISHED, Title("illegal-instruction"), facts, remedies)
