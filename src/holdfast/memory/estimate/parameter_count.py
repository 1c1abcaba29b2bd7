"""`python -m holdfast.memory.estimate.parameter_count`: counts the weights of a detector, on whichever backend
is installed.

The last resort when neither compiling nor tracing works: what a step needs at least.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping

from holdfast.memory.breakdown import METHODS, MemoryBreakdown, MemoryItem
from holdfast.memory.step_config import StepConfig, from_json

FLOAT_BYTES = 4  # weights and moments are kept in float32 whatever the precision


def counted_breakdown(counted: Mapping[str, int], config: StepConfig) -> MemoryBreakdown:
    """Each weight once, its gradient, its moments, and the batch: a lower bound."""
    weights = counted["trainable"] * FLOAT_BYTES
    moments = 2 if config.optimizer == "adamw" else 1
    state = [
        MemoryItem("weights", weights, "counted"),
        MemoryItem("statistics", counted["fixed"] * FLOAT_BYTES, "counted"),
        MemoryItem("optimizer moments", moments * weights, "counted"),
        MemoryItem("EMA of the weights", weights if config.ema else 0, "counted"),
    ]
    items = [
        *state,
        MemoryItem("gradients", weights, "counted"),
        MemoryItem("one batch", config.batch * config.image_pixels * 3, "counted"),
    ]
    present = tuple(item for item in items if item.bytes)
    total, once = sum(item.bytes for item in present), sum(item.bytes for item in state)
    return MemoryBreakdown(present, METHODS["counted"], total, 0, state_bytes=once)


def main() -> int:
    config = from_json(json.loads(sys.stdin.read())["setup"])
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from holdfast.detectors.build import build
    from holdfast.memory.estimate.step_inputs import spec_of

    model = build(spec_of(config))
    trainable, fixed = (
        sum(math.prod(variable.shape) for variable in variables)
        for variables in (model.trainable_variables, model.non_trainable_variables)
    )
    print("\n" + json.dumps({"trainable": trainable, "fixed": fixed}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
