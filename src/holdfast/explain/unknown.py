"""The honest answer when nothing fits: what is known, what was looked for, what was not found."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.grounds import at_the_end
from holdfast.explain.words import clipped, span


def unknown(evidence: Evidence, word: str) -> Finding:
    facts: list[Fact] = []
    if evidence.ended is not None:
        how = evidence.exit_signal or f"exit code {evidence.exit_code}"
        facts.append(Fact(f"it ended with {how}", evidence.exit_source))
    if evidence.stall is not None:
        event = evidence.stall.event
        facts.append(
            Fact(
                f"it did not move for {span(evidence.silent_for_s)} in phase {event.phase or 'unknown'}",
                evidence.stall.source,
            )
        )
    main = evidence.standing.main if evidence.standing is not None else None
    if main is not None and main.where and evidence.standing is not None:
        waits = f", waiting in {main.wait}" if main.wait else ""
        facts.append(Fact(f"the main thread stood at {main.where}{waits}", evidence.standing.source))
    facts += [
        Fact(f"its last line of output: {clipped(line.text, 160)}", line.source)
        for line in evidence.output.lines[-1:]
    ]
    facts += at_the_end(evidence)
    against = [Fact(f"not found: {text}") for text in _not_found(evidence)]
    return Finding(
        "unknown", Strength.POSSIBLE, _TITLES.get(word, "the cause is not known"), tuple(facts), tuple(against),
        (Remedy("run it again under Holdfast with a shorter limit: `holdfast run --stall-after 60 -- …`", "guess"),
         Remedy("send the run's folder with a report of a missing cause", "your-choice")),
    )  # fmt: skip


_TITLES = {
    "stalled": "it does not move, and nothing that was looked at says why",
    "killed": "it was ended, and nothing that was looked at says by whom",
    "failed": "it ended badly, and nothing that was looked at says why",
    "stopped-early": "it ended by itself before its planned end, and nothing that was looked at says why",
}


def _not_found(evidence: Evidence) -> list[str]:
    found = []
    if evidence.error is None:
        found.append("an exception, in the journal or in the output")
    if not (evidence.oom_kills or 0):
        found.append("a kill by the kernel for memory")
    if not evidence.probed:
        found.append(
            "a word from inside the process: it is not Python, or the probe was kept out (python -I, -E, -S)"
        )
    if evidence.stall is not None and evidence.standing is None:
        found.append("stacks of the stall")
    return found
