"""`python -m holdfast.memory.estimate.prediction_worker`: a setup and batches on standard input, bytes on
standard output, as JSON.

A process of its own, since JAX must be told that it has no card before it is imported, and since what a large
compilation leaves behind should leave with it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

VALIDATION_BATCH = 16  # as `train.assemble.data` has it


def main() -> int:
    asked = json.loads(sys.stdin.read())
    os.environ.update(JAX_PLATFORMS="cpu", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1", KERAS_BACKEND="jax")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # the card is described, not opened
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from holdfast.errors import HoldfastError

    try:
        answer = predict_batches(asked)
    except HoldfastError as error:
        answer = {"error": error.as_json()}
    print("\n" + json.dumps(answer), flush=True)
    return 0


def predict_batches(asked: dict[str, Any]) -> dict[str, Any]:
    """`asked`: setup, batches as [[batch, micro_batch], …], and a card, or none for liveness alone."""
    import jax
    import keras

    from holdfast.memory import step_config
    from holdfast.memory.estimate import abstract_step, aot_compile, liveness
    from holdfast.memory.estimate.step_inputs import batch_of
    from holdfast.memory.gpu_catalogue import gpu_named

    wanted = step_config.from_json(asked["setup"])
    card = gpu_named(asked["card"]).with_memory(int(asked["memory_bytes"])) if asked.get("card") else None
    sharding = (
        aot_compile.compile_target(card) if card is not None else None
    )  # first: cheap, and may not be there
    made = abstract_step.build_abstract_step(wanted)
    at_once = min(wanted.batch, VALIDATION_BATCH)
    validation = liveness.peak_of(made.traced_validation(at_once).jaxpr).temp_bytes
    found = []
    for batch, micro in asked["batches"]:
        step = made.step(batch, micro)
        one = {"batch": batch, "micro_batch": micro, **counted_sizes(step, batch_of(wanted, 1), batch)}
        with aot_compile.lowering_for(card):
            traced = step.traced(batch_of(wanted, batch), lambda tree: abstract_step.abstract(tree, sharding))
            one["liveness"] = liveness.peak_of(traced.jaxpr).as_json()
            one["validation_temp"] = validation
            if card is not None:
                one["compiled"] = aot_compile.compile_for(traced).as_json()
        found.append(one)
    return {"answers": found, "versions": {"jax": jax.__version__, "keras": keras.__version__}}


def counted_sizes(step: Any, one_picture: dict[str, Any], batch: int) -> dict[str, Any]:
    """What can be counted without compiling anything."""
    from holdfast.memory.estimate.abstract_step import size_of

    moving, fixed = step.state
    variables = [size_of(variable.value) for variable in step.network.model.variables]
    return {
        "weights": size_of(moving.weights),
        "moments": size_of((moving.first, moving.second)),
        "average": size_of(moving.average),
        "fixed": size_of(fixed),
        "state": size_of((moving, fixed)),
        "masks": size_of(step.arguments(one_picture)[2]),
        "model": sum(variables),
        "variables": variables,
        "batch": size_of(one_picture) * batch,
    }


if __name__ == "__main__":
    sys.exit(main())
