"""Memory rises during validation only: results are being collected."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, kept_by_objects, memory_end
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, at_the_end, grew
from holdfast.explain.words import size


@cause("evaluation-accumulates", Group.MEMORY, specialises=("memory-leak",))
def evaluation_accumulates(evidence: Evidence) -> Finding | None:
    grown, ended = evidence.growth, memory_end(evidence)
    if ended is MemoryEnd.NO or grown.when != GrowthShape.IN_VALIDATION:
        return None
    kept = kept_by_objects(evidence)
    facts = [grew(evidence)]
    if grown.training.bytes < 0.3 * grown.validation.bytes:
        facts.append(
            Fact(
                f"at training steps it rose by {size(max(0, grown.training.bytes))} only", grown.total.source
            )
        )
    if kept is not None and kept[0] > 0.1 * grown.total.bytes:
        where = f" ({kept[1]['where']})" if kept[1].get("where") else ""
        facts.append(Fact(f"{kept[1].get('name')}{where} grew by {size(kept[0])}", kept[2]))
    facts += at_the_end(evidence)
    named = kept is not None and kept[0] > 0.4 * grown.total.bytes
    what = f"{kept[1].get('name')} collects" if named and kept is not None else "something collects results"
    return Finding(
        "evaluation-accumulates",
        Strength.ESTABLISHED if named else Strength.SUPPORTED,
        f"{what} during validation, until memory is full",
        tuple(facts),
        (),
        (
            Remedy(
                "keep the few numbers that the metric needs, or write results to disk as they come",
                "your-choice",
                'np.save(folder / f"{batch}.npy", boxes)',
            ),
        ),
        led_to=ended.cause,
    )
