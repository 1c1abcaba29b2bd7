"""A verdict as text for a terminal: the summary first, then the evidence, what to change, what was ruled out."""

from __future__ import annotations

from holdfast.explain.finding import Fact, Finding, Remedy, Strength, Verdict
from holdfast.report import wording
from holdfast.report.comparison import since_last_good
from holdfast.report.text import BOLD, PLAIN, RED, labelled, wrap

_GREEN = "\x1b[32m"
_SAFETY = {"automatic": "safe", "your-choice": "your choice", "guess": "a guess"}
_STRENGTH_TEXT = {
    Strength.ESTABLISHED: "established: the evidence leaves no other reading",
    Strength.SUPPORTED: "supported: the best fit among the causes checked",
    Strength.POSSIBLE: "possible: it fits, and so do other readings",
}
_MOST_RULED_OUT = 4


def render(verdict: Verdict, width: int = 80, colour: bool = False) -> str:
    """The whole answer. The first line is the summary."""
    first = verdict.findings[0] if verdict.findings else None
    blocks: list[tuple[str, list[str]]] = []
    blocks.append(("warned", [_fact(fact) for fact in verdict.warned]))
    blocks.append(("also", [_also(other, verdict) for other in verdict.findings[1:]]))
    blocks.append(("since", since_last_good(verdict.changes)))
    blocks.append(
        ("not", [f"{one.cause}: {wording.why_not(one)}" for one in verdict.ruled_out[:_MOST_RULED_OUT]])
    )
    blocks.append(("known", [_fact(fact) for fact in _worth_knowing(verdict)]))
    if first is not None and first.cause != "unknown":
        blocks.append(("more", [f"holdfast causes {first.cause}"]))
    lines = _headline(verdict, first, width, colour)
    lines += labelled(
        "run",
        [f"{verdict.run}: {verdict.outcome}; {wording.summary(verdict.summary)}"],
        width=width,
        colour=colour,
    )
    lines += _finding(first, width, colour) if first is not None else []
    for label, texts in blocks:
        lines += labelled(label, texts, width=width, colour=colour)
    return "\n".join(lines) + "\n"


def _headline(verdict: Verdict, first: Finding | None, width: int, colour: bool) -> list[str]:
    head = f"verdict[{first.cause if first is not None else verdict.outcome}]: "
    lines = wrap(
        head + (wording.title(first.title) if first is not None else _no_finding_text(verdict)),
        width=width,
        hang=2,
    )
    if colour:
        shade = _GREEN if verdict.went_well else RED
        lines[0] = f"{shade}{BOLD}{head}{PLAIN}{BOLD}{lines[0][len(head) :]}{PLAIN}"
    return lines


def _finding(finding: Finding, width: int, colour: bool) -> list[str]:
    lines: list[str] = []
    for label, texts in (
        ("sure", [_STRENGTH_TEXT[finding.strength]]),
        ("because", [_fact(fact) for fact in finding.because]),
        ("against", [_fact(fact) for fact in finding.against]),
        ("led to", [finding.led_to] if finding.led_to else []),
    ):
        lines += labelled(label, texts, width=width, colour=colour)
    for number, remedy in enumerate(finding.remedies):
        lines += _remedy("change" if number == 0 else "or", remedy, width, colour)
    return lines


def _remedy(label: str, remedy: Remedy, width: int, colour: bool) -> list[str]:
    """What to do, and the code under it as it is to be typed: code is not folded."""
    do, code = wording.advice(remedy)
    lines = labelled(label, [f"{do}  ({_SAFETY[remedy.safety]})"], width=width, colour=colour)
    return lines + [" " * 14 + line for line in code.splitlines()]


def _fact(fact: Fact) -> str:
    text = wording.sentence(fact)
    return f"{text}  [{fact.source}]" if fact.source else text


def _also(finding: Finding, verdict: Verdict) -> str:
    root = next((one.cause for one in verdict.findings if one.led_to == finding.cause), None)
    how = f", from {root}" if root else ""
    return f"{finding.cause} ({finding.strength.word}{how}): {wording.title(finding.title)}"


def _worth_knowing(verdict: Verdict) -> list[Fact]:
    """Missing records matter where the answer is poor; elsewhere they are noise."""
    poor = not verdict.findings or verdict.findings[0].strength == Strength.POSSIBLE
    quiet = verdict.outcome == "finished"
    return [fact for fact in verdict.known if fact.source or (poor and not quiet)]


def _no_finding_text(verdict: Verdict) -> str:
    if any(fact.kind == "summary.log" for fact in verdict.summary):
        return "the log has no error at its end, and nothing in it speaks against the run"
    goes = "it runs" if verdict.outcome == "running" else "it ended by itself"
    if verdict.warned:
        return f"{goes}; what the framework warned of speaks against the result"
    return f"{goes}, and nothing speaks against it"
