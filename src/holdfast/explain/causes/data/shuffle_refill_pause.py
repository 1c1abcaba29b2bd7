"""A pause at the start of every epoch while the shuffle buffer fills."""

from holdfast.explain.readings.numbers import median
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

#: A first step that is worth a finding: in seconds, as a multiple of the other steps, as a share of the epoch.
#: Chosen: separates the test program with a slow map before `shuffle` from those with it behind.
_PAUSE_S, _TIMES_A_STEP, _SHARE_OF_EPOCH = 1.0, 10, 0.1


@cause("shuffle-refill-pause", specialises=("input-starved",))
def shuffle_refill_pause(evidence: Evidence) -> Finding | None:
    passes = evidence.fit.epochs if evidence.fit is not None else evidence.all(ev.PassDone)
    timed = [one for one in passes if one.event.first_step_s is not None and one.event.steps > 2]
    later = timed[1:]  # the first epoch's first step contains the compilation
    shuffles = [node for node in evidence.nodes if node.op == "shuffle"]
    if len(later) < 2 or not shuffles:
        return None
    pause_s = median([one.event.first_step_s or 0.0 for one in later])
    rests = [(one.event.duration_s - (one.event.first_step_s or 0.0), one.event.steps - 1) for one in later]
    step_s = median([seconds / max(1, steps) for seconds, steps in rests])
    epoch_s = median([one.event.duration_s for one in later])
    if pause_s < max(_PAUSE_S, _TIMES_A_STEP * step_s, _SHARE_OF_EPOCH * epoch_s):
        return None
    node = shuffles[-1]
    buffer = {"where": node.where, "elements": node.buffer_size or 0}
    return Finding(
        Strength.SUPPORTED,
        Title("shuffle-refill-pause", {"pause_s": pause_s}),
        because=[
            Fact("epochs.first-step-slow", {"pause_s": pause_s, "step_s": step_s}, later[-1].source),
            Fact("pipeline.shuffle-refilled", buffer, node.source),
        ],
        remedies=[Remedy("shuffle.names"), Remedy("pipeline.repeat-before-batch")],
        ends=False,
    )
