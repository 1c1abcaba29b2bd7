"""The CPU does not support an instruction of the program."""

from holdfast.explain.readings.end import before_first_step, end_seen
from holdfast.explain.readings.error import ErrorText
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_REFUSED = ErrorText(r"compiled to use \S+ instructions")


@cause("illegal-instruction", specialises=("native-crash", "script-error"))
def illegal_instruction(evidence: Evidence) -> Finding | None:
    if evidence.exit_signal != "SIGILL":
        quote = _REFUSED.match(evidence) if evidence.error is not None else None
        remedies = [Remedy("cpu.use-one-with-avx")]
        title = Title("illegal-instruction.refused")
        return Finding(Strength.ESTABLISHED, title, quote.facts, remedies) if quote is not None else None
    line = evidence.output.last(r"Illegal instruction|compiled to use \S+ instructions")
    facts = [*end_seen(evidence), *([line.fact] if line is not None else []), *before_first_step(evidence)]
    remedies = [Remedy("cpu.use-one-with-avx")]
    return Finding(Strength.ESTABLISHED, Title("illegal-instruction"), facts, remedies)
