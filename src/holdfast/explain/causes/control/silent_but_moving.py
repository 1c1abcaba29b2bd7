"""It prints nothing, and trains."""

from holdfast.explain.causes.control import thresholds
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, facts
from holdfast.journal.vitals import Sample


@cause("silent-but-moving")
def silent_but_moving(evidence: Evidence) -> Finding | None:
    over = evidence.ended is not None or not evidence.alive or evidence.stall is not None
    if over or len(evidence.samples) < thresholds.FEWEST_SAMPLES:
        return None
    (first_line, first), (last_line, last) = _quiet_stretch(evidence)
    quiet_s, steps = last.mono - first.mono, last.step - first.step
    since = last.mono - max(thresholds.MOVED_WITHIN_S, thresholds.MOVED_WITHIN_SHARE * quiet_s)
    recent = [sample for _, sample in evidence.samples if sample.mono >= since]
    if quiet_s < thresholds.QUIET_S or steps < 1 or recent[-1].step <= recent[0].step:
        return None
    values = {"seconds": quiet_s, "steps": steps, "steps_per_s": steps / quiet_s}
    return Finding(
        Strength.ESTABLISHED,
        Title("silent-but-moving", values),
        facts(
            Fact("output.none-while-training", values, f"vitals.jsonl:{first_line}-{last_line}"),
            last.loss is not None and Fact("loss.now", {"loss": last.loss}, f"vitals.jsonl:{last_line}"),
        ),
        [Remedy("output.print-progress")],
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
