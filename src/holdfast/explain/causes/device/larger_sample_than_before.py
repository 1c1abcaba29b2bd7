"""One sample is much larger than those before it, and its step needs more memory."""

from __future__ import annotations

from typing import cast

from holdfast.explain import finding
from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import growth_values, memory_end
from holdfast.explain.readings.pipeline import part_bytes
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, at_the_end, gpu_refused
from holdfast.explain.words import size
from holdfast.journal import events as ev


@cause("larger-sample-than-before", Group.DEVICE, specialises=("script-error",))
def larger_sample_than_before(evidence: Evidence) -> Finding | None:
    ended = memory_end(evidence).cause or ("device-memory-exhausted" if gpu_refused(evidence) else None)
    if not ended or not evidence.step or evidence.step < 3:
        return None
    batches = [said for said in evidence.all(ev.BatchSeen) if said.event.role == "train"]
    sizes = [(sum(filter(None, (part_bytes(part) for part in said.event.parts))), said) for said in batches]
    facts: list[Fact] = []
    strength = Strength.POSSIBLE
    if (
        len(sizes) > 1
        and sizes[-1][0] > 1.5 * max(1, min(count for count, _ in sizes[:-1]))
        and sizes[-1][0] >= max(c for c, _ in sizes)
    ):
        largest, said = sizes[-1]
        usual = sorted(count for count, _ in sizes[:-1])[len(sizes[:-1]) // 2]
        facts.append(
            Fact(
                f"the batch of step {said.event.step:,} has {size(largest)}, {largest / max(1, usual):.1f} "
                f"times the usual {size(usual)}",
                said.source,
            )
        )
        strength = Strength.SUPPORTED
    grown = evidence.growth
    jump = grown.when == GrowthShape.ONE_JUMP and grown.largest_jump.last_line >= evidence.samples[-1][0] - 3
    if jump:
        facts.append(
            Fact(
                f"memory was flat for {evidence.step:,} steps and then rose by {size(grown.largest_jump.bytes)} "
                "at once",
                grown.largest_jump.source,
            )
        )
        strength = Strength.SUPPORTED if strength == Strength.POSSIBLE and _varies(evidence) else strength
    if grown.when == GrowthShape.ONE_STEP:
        facts.append(
            cast("Fact", finding.Fact("memory.grew-after-flat", growth_values(evidence), grown.rise.source))
        )
        strength = Strength.SUPPORTED if _varies(evidence) else strength
    if not facts and _flat_until_the_end(evidence) and _varies(evidence):
        facts.append(
            Fact(
                f"memory was flat for {evidence.step:,} steps, and the end came between two measurements",
                grown.total.source or "vitals.jsonl",
            )
        )
        strength = Strength.SUPPORTED
    if not facts:
        return None
    facts += at_the_end(evidence)
    return Finding(
        "larger-sample-than-before",
        strength,
        "one sample is much larger than those before it, and its step did not fit",
        tuple(facts),
        (),
        (
            Remedy(
                "bound the longest side when the data is read",
                "your-choice",
                "image = tf.image.resize(image, (640, 640), preserve_aspect_ratio=True)",
            ),
            Remedy(
                "find the outliers before: `holdfast check DATA` names images and box counts far out of line",
                "automatic",
            ),
        ),
        led_to=ended,
    )


def _varies(evidence: Evidence) -> bool:
    """The shape of a sample is not fixed."""
    data = evidence.data()
    specs = data.event.element_spec if data is not None and isinstance(data.event.element_spec, list) else []
    shapes = [spec[0] for spec in specs if isinstance(spec, list) and spec and isinstance(spec[0], list)]
    return any(None in shape[1:] for shape in shapes)


def _flat_until_the_end(evidence: Evidence) -> bool:
    sizes = [s.rss_bytes for _, s in evidence.samples if s.step > 0]
    limit = evidence.memory_limit[0] if evidence.memory_limit else None
    return (
        len(sizes) > 1
        and bool(limit)
        and max(sizes) - min(sizes) < 0.2 * max(sizes)
        and max(sizes) < 0.8 * (limit or 0)
    )
