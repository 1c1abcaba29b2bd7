"""Models are built or refitted in a loop and the old ones stay."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, kept_by_objects, memory_end
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, at_the_end, grew
from holdfast.explain.words import counted, listed, size
from holdfast.journal import events as ev


@cause("model-rebuilt", Group.MEMORY, specialises=("memory-leak",))
def model_rebuilt(evidence: Evidence) -> Finding | None:
    grown, ended = evidence.growth, memory_end(evidence)
    if ended is MemoryEnd.NO:
        return None
    alive = 0
    source = ""
    for said in evidence.all(ev.HoldingsSeen):
        count = sum(
            int(number_of(n) or 0)
            for name, n in said.event.object_counts.items()
            if name in ("Model", "Functional", "Sequential")
        )
        if count > alive:
            alive, source = count, said.source
    fits, models = evidence.fit_count, len(evidence.all(ev.ModelSeen))
    predicts = evidence.last(ev.PredictDone)
    calls = max(fits, models, predicts.event.count if predicts is not None else 0)
    if calls < 3 or (grown.when != GrowthShape.BETWEEN_FITS and alive < 3 and models < 5):
        return None
    facts = [Fact(f"{counted(fits, 'fit')} of {counted(models, 'model')} in one process", "journal.jsonl")]
    if grown.when == GrowthShape.BETWEEN_FITS:
        facts.append(
            Fact(
                f"memory at the end of each fit rose by {listed([size(gain) for _, gain in grown.by_fit[1:]], 5)}",
                grown.total.source,
            )
        )
    elif grown.when != GrowthShape.NONE:
        facts.append(grew(evidence))
    if alive >= 3:
        facts.append(Fact(f"{alive} models are alive at once", source))
    facts += at_the_end(evidence)
    kept = kept_by_objects(evidence)
    named = kept is not None and kept[0] > 0.5 * max(1, grown.total.bytes)
    strength = (
        Strength.SUPPORTED if grown.when == GrowthShape.BETWEEN_FITS or alive >= 5 else Strength.POSSIBLE
    )
    if grown.when == GrowthShape.BETWEEN_FITS and alive >= 0.6 * len(evidence.fits) and not named:
        strength = Strength.ESTABLISHED
    return Finding(
        "model-rebuilt",
        Strength.POSSIBLE if named else strength,
        "each new model or fit leaves the one before in memory",
        tuple(facts),
        (),
        (
            Remedy(
                "forget the old model before the next, or use a process for each",
                "your-choice",
                "del model\nkeras.backend.clear_session()\ngc.collect()",
            ),
            Remedy("for single predictions call the model itself", "your-choice", "model(x, training=False)"),
        ),
        led_to=ended.cause,
    )
