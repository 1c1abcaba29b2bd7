"""The GPU has enough free memory in all, but not in one piece."""

from __future__ import annotations

import re

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.grounds import gpu_refused
from holdfast.explain.words import size


def device_memory_fragmented(evidence: Evidence) -> Finding | None:
    said = gpu_refused(evidence)
    if said is None:
        return None
    text = "\n".join(line.text for line in evidence.output.lines[-600:]) + "\n" + evidence.error_text
    asked = _bytes(re.search(r"allocate ([\d.]+) ?([KMGT]?i?B|bytes)", text))
    limit, used = re.search(r"Limit:\s+(\d+)", text), re.search(r"InUse:\s+(\d+)", text)
    if not (asked and limit and used):
        return None
    free = int(limit[1]) - int(used[1])
    if free < 1.5 * asked:
        return None
    return Finding(
        "device-memory-fragmented",
        Strength.SUPPORTED,
        f"{size(asked)} were refused although {size(free)} were free, in pieces",
        (
            said[1],
            Fact(
                f"the allocator's own figures: limit {size(int(limit[1]))}, in use {size(int(used[1]))}",
                said[1].source,
            ),
        ),
        (),
        (Remedy("let CUDA's own allocator handle it", "your-choice", "TF_GPU_ALLOCATOR=cuda_malloc_async"),),
        led_to="device-memory-exhausted",
    )


def _bytes(found: re.Match[str] | None) -> float | None:
    if found is None:
        return None
    unit = found[2][:1].upper()
    return float(found[1]) * 1024 ** " KMGT".find(unit) if unit in "KMGT" else float(found[1])


PAGE = """\
What it is
  The allocator's pool has enough free memory, but in pieces between tensors
  that live long; a large tensor finds no gap.

How Holdfast knows
  The figures that TensorFlow's allocator prints with the failure: what was
  asked for is far less than limit minus in use.

How to make it happen
  Alternate large and small tensors of varying sizes on a nearly full card.

How to cure it
  `TF_GPU_ALLOCATOR=cuda_malloc_async`, or fixed shapes.

When Holdfast would be wrong
  If the free part is reserved for something that the figures do not show.
"""
