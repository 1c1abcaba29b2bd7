"""It prints nothing, and trains."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import number, span, whole
from holdfast.journal.vitals import Sample


@cause("silent-but-moving", Group.CONTROL)
def silent_but_moving(evidence: Evidence) -> Finding | None:
    if (
        evidence.ended is not None
        or not evidence.alive
        or evidence.stall is not None
        or len(evidence.samples) < 5
    ):
        return None
    (first_line, first), (last_line, last) = _quiet_stretch(evidence)
    quiet_s, steps = last.mono - first.mono, last.step - first.step
    recent = [s for _, s in evidence.samples if s.mono >= last.mono - max(10.0, 0.2 * quiet_s)]
    if quiet_s < 20 or steps < 1 or recent[-1].step <= recent[0].step:
        return None
    facts = [
        Fact(
            f"nothing was printed for {span(quiet_s)}, while {whole(steps)} steps were done: "
            f"{steps / quiet_s:.3g} a second",
            f"vitals.jsonl:{first_line}-{last_line}",
        )
    ]
    if last.loss is not None:
        facts.append(Fact(f"the loss stands at {number(last.loss)}", f"vitals.jsonl:{last_line}"))
    return Finding(
        "silent-but-moving",
        Strength.ESTABLISHED,
        f"it is not stuck: it trains, {steps / quiet_s:.3g} steps a second, and prints nothing",
        tuple(facts),
        (),
        (Remedy("nothing; to see it, print", "your-choice", "model.fit(…, verbose=2)"),),
        ends=False,
        normal=True,
    )


def _quiet_stretch(evidence: Evidence) -> tuple[tuple[int, Sample], tuple[int, Sample]]:
    last = evidence.samples[-1]
    first = last
    for pair in reversed(evidence.samples):
        if pair[1].output_bytes != last[1].output_bytes:
            break
        first = pair
    return first, last
