"""`batch` was applied twice, so that a step gets a batch of batches."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.memory import MemoryEnd, memory_end
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped


@cause("batched-twice", Group.MEMORY, specialises=("script-error",))
def batched_twice(evidence: Evidence) -> Finding | None:
    data, model = evidence.data(), evidence.model
    batches = [node for node in evidence.nodes if node.op == "batch"]
    ops = [node.op for node in evidence.nodes]
    if data is None or len(batches) < 2 or "unbatch" in ops or "window" in ops or "zip" in ops:
        return None
    ranks = [
        len(spec[0])
        for spec in data.event.element_spec or []
        if isinstance(spec, list) and isinstance(spec[0], list)
    ]
    wanted = _rank(model.event.input_shape) if model is not None else None
    mismatch = wanted is not None and bool(ranks) and ranks[0] == wanted + 1
    ended = memory_end(evidence)
    failed = evidence.error is not None and evidence.error.left != "callback"
    fits = wanted is not None and bool(ranks) and not mismatch  # frames in clips, clips in a batch
    if fits or not (mismatch or ended is not MemoryEnd.NO or failed):
        return None
    sizes = [str(node.settings.get("batch_size", "?")) for node in batches]
    facts = [
        Fact(
            f"batch is applied {len(batches)} times, of {' and '.join(sizes)}"
            + "".join(f" ({node.where})" for node in batches if node.where),
            data.source,
        )
    ]
    if ranks:
        facts.append(
            Fact(
                f"an element has {ranks[0]} dimensions" + (f", the model takes {wanted}" if wanted else ""),
                data.source,
            )
        )
    if failed and evidence.error is not None:
        facts.append(Fact(clipped(f"{evidence.error.type}: {evidence.error.message}"), evidence.error.source))
    return Finding(
        "batched-twice",
        Strength.ESTABLISHED if mismatch else Strength.SUPPORTED,
        f"the dataset is batched {len(batches)} times: a step gets {' x '.join(sizes)} samples",
        tuple(facts),
        (),
        (Remedy("batch once", "your-choice", f"ds = ds.batch({sizes[-1]})   # and no other"),),
        led_to=ended.cause,
    )


def _rank(shape: object) -> int | None:
    if (
        isinstance(shape, list | tuple)
        and shape
        and all(side is None or isinstance(side, int) for side in shape)
    ):
        return len(shape)
    if isinstance(shape, list | tuple) and len(shape) == 1:
        return _rank(shape[0])
    return None
