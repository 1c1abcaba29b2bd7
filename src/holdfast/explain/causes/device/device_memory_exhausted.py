"""The GPU has no memory left for a tensor."""

import re

from holdfast.explain.readings.memory import gpu_refused
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_SHAPE = re.compile(r"shape ?\[([\d,]+)\](?: and type (\w+))?")
_REQUESTED = re.compile(r"(?:trying to )?allocate ([\d.]+ ?[KMGT]?i?B|\d+ bytes)")
_OPERATION = re.compile(r"\[?\{\{node ([\w/.:-]+)\}\}")
_GPUS_SHOWN = 4


@cause(
    "device-memory-exhausted", specialises=("script-error", "native-crash", "callback-raised"), mechanism=True
)
def device_memory_exhausted(evidence: Evidence) -> Finding | None:
    quote = gpu_refused(evidence)
    if quote is None:
        return None
    shape, requested = _SHAPE.search(quote.whole), _REQUESTED.search(quote.whole)
    operation = _OPERATION.search(quote.whole)
    facts = [Fact("error.operation", {"name": operation[1]}, quote.source)] if operation else []
    sides = [int(side) for side in shape[1].split(",") if side] if shape else []
    values = {"shape": sides, "requested": requested[1] if requested and not sides else ""}
    torch = {"torch": "PyTorch" in quote.whole}
    return Finding(
        Strength.ESTABLISHED,
        Title("device-memory-exhausted", values),
        because=[*quote.facts, *facts, *_gpus(evidence)],
        remedies=[Remedy("batch.accumulate-gradients", torch), Remedy("precision.half", torch)],
    )


def _gpus(evidence: Evidence) -> list[Fact]:
    """What was used of each GPU when it was last measured."""
    facts = []
    for line, sample in evidence.samples[-1:]:
        for gpu in sample.gpus[:_GPUS_SHOWN]:
            used, total, own = (number_of(gpu.get(f"{name}_bytes")) for name in ("used", "total", "ours"))
            values = {"used_bytes": used, "total_bytes": total, "own_bytes": own or None}
            facts.append(Fact("gpu.memory", values, f"vitals.jsonl:{line}"))
    return facts
