"""One sample is much larger than those before it, and its step needs more memory."""

import math
import re
from collections.abc import Sequence

from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import at_the_end, gpu_refused, growth_values, memory_end
from holdfast.explain.readings.pipeline import element_shapes, part_bytes
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_STEPS_NEEDED = 3  # before it, so that "before" means something
#: The last batch as a multiple of the smallest. Chosen: more than padding and the last incomplete batch make of it.
_LARGER = 1.5
_LAST_SAMPLES = 3  # within which a jump of memory counts as the end
#: What counts as flat, as a share of the highest; and how far below the limit it then was. Chosen.
_FLAT, _BELOW_LIMIT = 0.2, 0.8


#: torch names what it was asked for, and what the process has.
_REQUEST = re.compile(
    r"Tried to allocate ([\d.]+) ([KMGT]iB).*?this process has ([\d.]+) ([KMGT]iB) memory in use", re.DOTALL
)
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
#: One tensor as a multiple of all that the process has, after whole steps. Chosen: far more than a last batch, or what
#: one layer takes of a step.
_FAR_LARGER = 20.0


@cause("larger-sample-than-before", specialises=("script-error",))
def larger_sample_than_before(evidence: Evidence) -> Finding | None:
    ended = memory_end(evidence).cause or ("device-memory-exhausted" if gpu_refused(evidence) else None)
    if not ended or (evidence.step or 0) < _STEPS_NEEDED:
        return None
    batch, varies = _larger_batch(evidence), _varies(evidence)
    request = _request(evidence)
    facts = [*batch, *request, *_rise(evidence)]
    if not facts and varies and _flat_until_the_end(evidence):
        source = evidence.growth.total.source or "vitals.jsonl"
        facts = [Fact("memory.flat-until-the-end", {"steps": evidence.step}, source)]
    if not facts:
        return None
    return Finding(
        Strength.supported_if(batch or varies or request),
        Title("larger-sample-than-before"),
        because=[*facts, *at_the_end(evidence)],
        remedies=[Remedy("images.limit-size"), Remedy("data.check", safety="automatic")],
        led_to=ended,
    )


def _larger_batch(evidence: Evidence) -> list[Fact]:
    """The last batch that was seen, where it is the largest by far."""
    batches = [one for one in evidence.all(ev.BatchSeen) if one.event.role == "train"]
    sizes = [sum(filter(None, (part_bytes(part) for part in one.event.parts))) for one in batches]
    if len(sizes) < 2:
        return []
    last, before = sizes[-1], sorted(sizes[:-1])
    if last <= _LARGER * max(1, before[0]) or last < before[-1]:
        return []
    usual, step = before[len(before) // 2], batches[-1].event.step
    return [batches[-1].fact("batch.larger", step=step, bytes=last, usual_bytes=usual)]


def _request(evidence: Evidence) -> list[Fact]:
    """In the body of the loop that has done steps before, one tensor was to take many times what all of them took. An
    evaluation has a line of its own."""
    error = evidence.error
    found = _REQUEST.search(error.message) if error is not None else None
    if error is None or found is None or not _in_the_loop(evidence, error.frames):
        return []
    wanted, own = (float(found[i]) * _UNITS[found[i + 1]] for i in (1, 3))
    if wanted < _FAR_LARGER * own:
        return []
    values = {"bytes": int(wanted), "own_bytes": int(own), "steps": evidence.step}
    facts = [Fact("memory.request-beyond-all", values, error.source)]
    hand = evidence.last(ev.AtHandSeen)
    shapes = [one for one in hand.event.arrays if one.get("shape")] if hand is not None else []
    if hand is not None and shapes:
        largest = max(shapes, key=lambda one: math.prod(one["shape"]))
        facts.append(hand.fact("array.largest-at-hand", name=largest["name"], shape=largest["shape"]))
    return facts


def _in_the_loop(evidence: Evidence, frames: Sequence[str]) -> bool:
    """Some frame lies between the head of the loop and the line of its step."""
    seen, planned = evidence.last(ev.LoopSeen), evidence.last(ev.LoopPlanned)
    loops = planned.event.loops if planned is not None else []
    if seen is None or not loops:
        return False
    file, _, end = seen.event.where.rpartition(":")
    head_file, _, head = str(loops[-1].get("where", "")).rpartition(":")
    if file != head_file or not (head.isdigit() and end.isdigit()):
        return False
    places = (frame.partition(" ")[0].rpartition(":") for frame in frames)
    return any(
        place == file and int(head) <= int(line) <= int(end) for place, _, line in places if line.isdigit()
    )


def _rise(evidence: Evidence) -> list[Fact]:
    """Memory was flat, and rose at once."""
    grown = evidence.growth
    jump = grown.largest_jump
    if grown.when == GrowthShape.ONE_STEP:
        return [Fact("memory.grew-after-flat", growth_values(evidence), grown.rise.source)]
    if grown.when == GrowthShape.ONE_JUMP and jump.last_line >= evidence.samples[-1][0] - _LAST_SAMPLES:
        return [Fact("memory.jumped", {"steps": evidence.step, "bytes": jump.bytes}, jump.source)]
    return []


def _varies(evidence: Evidence) -> bool:
    """The shape of a sample is not fixed."""
    return any(None in shape[1:] for shape in element_shapes(evidence.dataset()))


def _flat_until_the_end(evidence: Evidence) -> bool:
    limit = evidence.memory_limit
    used = [sample.rss_bytes for _, sample in evidence.samples if sample.step > 0]
    if len(used) < 2 or limit is None:
        return False
    return max(used) - min(used) < _FLAT * max(used) and max(used) < _BELOW_LIMIT * limit.bytes
