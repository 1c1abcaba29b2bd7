"""Sentences of causes in a GPU and its memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.report.wording import shared_wording
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled, listed
from holdfast.units import size

_PROCESSES_SHOWN = 4


def _used_before(values: Mapping[str, Any]) -> str:
    processes = [f"{one['name']} (pid {one['pid']}, {size(one['bytes'])})" for one in values["processes"]]
    by = f" by {listed(processes, _PROCESSES_SHOWN)}" if processes else ""
    return filled("before this run began, {used_bytes:size} of {total_bytes:size} were in use", values) + by


def _larger(values: Mapping[str, Any]) -> str:
    times = f"{values['bytes'] / max(1, values['usual_bytes']):.1f} times"
    return filled(
        f"the batch of step {{step:count}} has {{bytes:size}}, {times} the usual {{usual_bytes:size}}", values
    )


TITLES: dict[str, Text] = {
    "device-memory-exhausted": "the GPU is out of memory[ for a tensor of shape {shape}][: {requested} were requested]",
    "device-memory-held-by-others": "{used_bytes:size} of the GPU's {total_bytes:size} were in use by other processes "
    "before the run began",
    "device-memory-fragmented": "{requested_bytes:size} were refused although {free_bytes:size} of GPU memory were "
    "free, in smaller blocks",
    "larger-sample-than-before": "one sample is much larger than those before it, and its step did not fit into memory",
    "gpu-never-finishes": "the GPU works on one step and does not finish it[; {where} waits for it]",
}

FACTS: dict[str, Text] = {
    "error.operation": "the operation is {name}",
    "gpu.memory": "the GPU used {used_bytes:size} of {total_bytes:size}[, {own_bytes:size} by this run]",
    "gpu.used-before": _used_before,
    "gpu.allocator": "the allocator reports[ a limit of {limit_bytes:size},][ {used_bytes:size} in use,] "
    "{free_bytes:size} unused",
    "gpu.busy-since-step": "the GPU was busy meanwhile, at least {least} % of the time at each reading",
    "gpu.same-point": "the thread that trains stayed at {where} for {seconds:duration}[, in {inside}], and none of its "
    "variables changed",
    "gpu.result-pending": "the result of the newest step is not there yet: the GPU works on that step",
    "batch.larger": _larger,
    "memory.request-beyond-all": "{bytes:size} were requested at once, after {steps:count step} of the same loop; the "
    "process used {own_bytes:size} of the GPU in all",
    "array.largest-at-hand": "{name}, the largest array at hand then, has the shape {shape}",
    "memory.jumped": "memory was flat for {steps:count step} and then rose by {bytes:size} at once",
    "memory.flat-until-the-end": "memory was flat for {steps:count step}, and the end came between two measurements",
    "memory.grew-after-flat": lambda values: f"{shared_wording.grew(values)}; before that it was flat",
}

REMEDIES: dict[str, Advice] = {
    "batch.accumulate-gradients": Advice(
        "use a smaller batch, with gradient accumulation for the same effective batch",
        lambda values: (
            "(loss / 4).backward()   # and optimizer.step() at every fourth batch"
            if values["torch"]
            else "optimizer = keras.optimizers.AdamW(1e-3, gradient_accumulation_steps=4)"
        ),
    ),
    "precision.half": Advice(
        "compute activations in half precision",
        lambda values: (
            'with torch.autocast("cuda", torch.bfloat16):'
            if values["torch"]
            else 'keras.mixed_precision.set_global_policy("mixed_bfloat16")'
        ),
    ),
    "gpu.bound-loops": Advice(
        "give each loop that runs on the GPU an upper bound",
        lambda values: (
            "jax.lax.while_loop(lambda s: (s.error > 1e-6) & (s.turns < 1000), body, start)"
            if values["jax"]
            else ""
        ),
    ),
    "gpu.find-the-kernel": Advice(
        "run that step alone, with each launch waited for, to see which call it is", "CUDA_LAUNCH_BLOCKING=1"
    ),
    "gpu.end-other-processes": Advice("end the processes that use it, if they are left over"),
    "gpu.use-another": Advice("use another GPU", "CUDA_VISIBLE_DEVICES=1"),
    "gpu.grow-memory": Advice(
        "allocate memory as needed instead of all at once",
        "tf.config.experimental.set_memory_growth(gpu, True)",
    ),
    "gpu.allocator-without-fragments": Advice(
        "use an allocator that avoids fragmentation",
        lambda values: (
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
            if values["torch"]
            else "TF_GPU_ALLOCATOR=cuda_malloc_async"
        ),
    ),
    "images.limit-size": Advice(
        "limit the longest side when the data is read",
        "image = tf.image.resize(image, (640, 640), preserve_aspect_ratio=True)",
    ),
}

RULED_OUT: dict[str, Text] = {}
