"""The step compiled ahead of time for a GPU that is not in this machine. The compiler's buffer plan is the prediction.

Needs JAX's two CUDA plugin wheels, but no driver, no NVIDIA library and no GPU.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.memory.gpu_catalogue import GpuSpec


class NoCompiler(HoldfastError):
    """The ahead-of-time compiler for GPUs is not installed."""

    slug = "plan-extra-missing"


@dataclass(frozen=True, slots=True)
class Compiled:
    """Bytes by the compiler's own count, and the fingerprint of the compiled program."""

    argument_bytes: int
    output_bytes: int
    alias_bytes: int
    temp_bytes: int
    program: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def compile_target(gpu: GpuSpec) -> Any:
    """A sharding on the described GPU. Raises NoCompiler when the plugin is missing."""
    import jax

    try:
        described = _described_device(gpu)
    except Exception as error:  # NotImplementedError without the plugin; others from an old or broken one
        raise NoCompiler(
            "this installation cannot compile for a GPU that is not in this machine",
            found=f"jax {jax.__version__}: " + (" ".join(str(error).split())[:200] or type(error).__name__),
            change=f"pip install --no-deps jax-cuda13-plugin=={jax.__version__} jax-cuda13-pjrt=={jax.__version__}"
            "  (142 MB, no NVIDIA libraries)",
        ) from error
    return jax.sharding.SingleDeviceSharding(described.devices[0])


def _described_device(gpu: GpuSpec) -> Any:
    from jax.experimental import topologies

    options = {"platform": "cuda", "topology": "1x1x1"}
    try:
        return topologies.get_topology_desc(target_config=gpu.target_config(), **options)
    except Exception as error:
        if "parse" not in str(error):
            raise
        return topologies.get_topology_desc(target_config=gpu.target_config(older=True), **options)


@contextlib.contextmanager
def lowering_for(gpu: GpuSpec | None) -> Iterator[None]:
    """While tracing and compiling: the step uses the kernels that it would use on that GPU."""
    if gpu is None:
        yield
        return
    from holdfast.detectors.ops.pallas_kernels import for_described_gpu

    with for_described_gpu(10 * gpu.capability[0] + gpu.capability[1]), _keras_as_on_gpu():
        yield


@contextlib.contextmanager
def _keras_as_on_gpu() -> Iterator[None]:
    """On a CPU Keras' argmax has more operations, for negative zeros: another program than on the GPU."""
    import keras.src.backend.jax.numpy as keras_numpy

    original = getattr(keras_numpy, "_uses_cpu", None)
    if original is None:  # another version of Keras
        yield
        return
    keras_numpy._uses_cpu = lambda _: False
    try:
        yield
    finally:
        keras_numpy._uses_cpu = original


def compile_for(traced: Any) -> Compiled:
    """Compiles what was traced with arguments on a target, and reads the buffer plan."""
    lowered = traced.lower()
    compiled = lowered.compile()
    if "__cudnn$conv" not in compiled.as_text():
        # Without a target on every argument JAX silently compiles for the CPU instead.
        raise HoldfastError(
            "the step was compiled for another kind of device than the GPU",
            where="ahead of time",
            change="holdfast plan with --quick, which compiles nothing",
        )
    memory = compiled.memory_analysis()
    return Compiled(
        argument_bytes=int(memory.argument_size_in_bytes),
        output_bytes=int(memory.output_size_in_bytes),
        alias_bytes=int(memory.alias_size_in_bytes),
        temp_bytes=int(memory.temp_size_in_bytes),
        program=program_of(lowered),
    )


def program_of(lowered: Any) -> str:
    """The first 16 hex digits of the SHA-256 of the program before the compiler.

    Without the values of its constants: anchors are computed where the process runs, and differ in the last bit; and
    without the code of our own kernels, which contains the path of their source.
    """
    text = re.sub(r"dense<[^>]*>", "dense<>", lowered.as_text())
    text = re.sub(r'\bir = "[^"]*"', 'ir = ""', text)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
