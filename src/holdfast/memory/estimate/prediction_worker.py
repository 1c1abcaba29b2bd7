"""`python -m holdfast.memory.estimate.prediction_worker`: a configuration and batches on standard input, bytes
on standard output, as JSON.

A process of its own, since the GPU must be hidden from JAX before it is imported, and since the memory of a large
compilation is freed with it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from holdfast.journal.group_membership import die_with_parent


def main() -> int:
    die_with_parent()  # the trainer may end before
    question = json.loads(sys.stdin.read())
    os.environ.update(JAX_PLATFORMS="cpu", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1", KERAS_BACKEND="jax")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # the GPU is described, not opened
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from holdfast.errors import HoldfastError

    try:
        answer = predict_batches(question)
    except HoldfastError as error:
        answer = {"error": error.as_json()}
    print("\n" + json.dumps(answer), flush=True)
    return 0


def predict_batches(question: dict[str, Any]) -> dict[str, Any]:
    """`question`: setup, batches as [[batch, micro_batch], …], and a `gpu`, or none for liveness only."""
    import jax
    import keras

    from holdfast.memory import step_config
    from holdfast.memory.estimate import abstract_step, aot_compile, liveness
    from holdfast.memory.estimate.prediction_cache import LIVENESS
    from holdfast.memory.estimate.step_inputs import batch_of
    from holdfast.memory.gpu_catalogue import gpu_named
    from holdfast.pipeline.feed import VALIDATION_BATCH

    config = step_config.from_json(question["setup"])
    gpu = (
        gpu_named(question["gpu"]).with_memory(int(question["memory_bytes"])) if question.get("gpu") else None
    )
    # First: it is cheap, and the compiler may be missing.
    sharding = aot_compile.compile_target(gpu) if gpu is not None else None
    abstract = abstract_step.build_abstract_step(config)
    at_once = min(config.batch, VALIDATION_BATCH)
    validation = liveness.peak_of(abstract.traced_validation(at_once).jaxpr).temp_bytes
    answers = []
    for batch, micro in question["batches"]:
        step = abstract.build_step(batch, micro)
        answer = {"batch": batch, "micro_batch": micro, **counted_sizes(step, batch_of(config, 1), batch)}
        with aot_compile.lowering_for(gpu):
            traced = step.traced(batch_of(config, batch), lambda tree: abstract_step.abstract(tree, sharding))
            answer["liveness"] = liveness.peak_of(traced.jaxpr).as_json()
            answer["validation_temp"] = validation
            if gpu is not None:
                print(LIVENESS + json.dumps({"sizes": [batch, micro], "answer": answer}), flush=True)
                answer["compiled"] = aot_compile.compile_for(traced).as_json()
        answers.append(answer)
    return {"answers": answers, "versions": {"jax": jax.__version__, "keras": keras.__version__}}


def counted_sizes(step: Any, one_image: dict[str, Any], batch: int) -> dict[str, Any]:
    """What can be counted without compiling."""
    from holdfast.memory.estimate.abstract_step import size_of

    optimizer_state, fixed = step.state
    variables = [size_of(variable.value) for variable in step.network.model.variables]
    return {
        "weights": size_of(optimizer_state.weights),
        "moments": size_of((optimizer_state.first_moment, optimizer_state.second_moment)),
        "average": size_of(optimizer_state.ema),
        "fixed": size_of(fixed),
        "state": size_of((optimizer_state, fixed)),
        "masks": size_of(step.arguments(one_image)[2]),
        "model": sum(variables),
        "variables": variables,
        "batch": size_of(one_image) * batch,
    }


if __name__ == "__main__":
    sys.exit(main())
