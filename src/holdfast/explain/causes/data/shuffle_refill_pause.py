"""A pause at the start of every epoch while the shuffle buffer fills."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numbers import median
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import span, whole
from holdfast.journal import events as ev


@cause("shuffle-refill-pause", Group.DATA, specialises=("input-starved",))
def shuffle_refill_pause(evidence: Evidence) -> Finding | None:
    fit = evidence.fit
    passes = fit.epochs if fit is not None else evidence.all(ev.PassDone)
    paused = [said for said in passes if said.event.first_step_s is not None and said.event.steps > 2]
    later = paused[1:]  # the first epoch's first step contains the compiling
    if len(later) < 2:
        return None
    pauses = [said.event.first_step_s or 0.0 for said in later]
    rests = [
        (said.event.duration_s - (said.event.first_step_s or 0.0)) / max(1, said.event.steps - 1)
        for said in later
    ]
    pause, step = median(pauses), median(rests)
    whole_epoch = median([said.event.duration_s for said in later])
    shuffles = [node for node in evidence.nodes if node.op == "shuffle"]
    if pause < 1.0 or pause < 10 * step or pause < 0.1 * whole_epoch or not shuffles:
        return None
    node = shuffles[-1]
    return Finding(
        "shuffle-refill-pause",
        Strength.SUPPORTED,
        f"every epoch begins with a pause of {span(pause)} while the shuffle buffer fills",
        (
            Fact(
                f"the first step of each later epoch took {span(pause)}, any other {span(step)}",
                later[-1].source,
            ),
            Fact(
                f"shuffle{f' ({node.where})' if node.where else ''} keeps {whole(node.buffer_size or 0)} "
                "elements and is filled anew in every epoch",
                node.source,
            ),
        ),
        (),
        (
            Remedy(
                "shuffle names, before the costly part, so that the buffer fills at once",
                "your-choice",
                "files.shuffle(len(files)).map(load)",
            ),
            Remedy(
                "let epochs run into one another: repeat before batching, with steps_per_epoch", "your-choice"
            ),
        ),
        ends=False,
    )
