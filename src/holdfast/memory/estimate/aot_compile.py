"""The step compiled for a card that is not here. The compiler's own plan of buffers is the prediction.

Needs JAX's two CUDA plugin wheels, but no driver, no NVIDIA library and no card.
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
    """The ahead-of-time compiler for cards is not installed."""

    slug = "plan-extra-missing"


@dataclass(frozen=True, slots=True)
class Compiled:
    """Bytes by the compiler's own count, and the fingerprint of the program that it compiled."""

    argument_bytes: int
    output_bytes: int
    alias_bytes: int
    temp_bytes: int
    program: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def compile_target(card: GpuSpec) -> Any:
    """A sharding on the card's described device; raises NoCompiler where the plugin is missing."""
    import jax

    try:
        described = _described_device(card)
    except Exception as error:  # NotImplementedError without the plugin; others from an old or broken one
        raise NoCompiler(
            "this installation cannot compile for a card that is not here",
            found=f"jax {jax.__version__}: " + (" ".join(str(error).split())[:200] or type(error).__name__),
            change=f"pip install --no-deps jax-cuda13-plugin=={jax.__version__} jax-cuda13-pjrt=={jax.__version__}"
            "  (142 MB, no NVIDIA libraries)",
        ) from error
    return jax.sharding.SingleDeviceSharding(described.devices[0])


def _described_device(card: GpuSpec) -> Any:
    from jax.experimental import topologies

    known = {"platform": "cuda", "topology": "1x1x1"}
    try:
        return topologies.get_topology_desc(target_config=card.described(), **known)
    except Exception as error:
        if "parse" not in str(error):
            raise
        return topologies.get_topology_desc(target_config=card.described(older=True), **known)


@contextlib.contextmanager
def lowering_for(card: GpuSpec | None) -> Iterator[None]:
    """While tracing and compiling for it: the step takes the kernels that it would take there."""
    if card is None:
        yield
        return
    from holdfast.detectors.ops.pallas_kernels import for_described_gpu

    with for_described_gpu(10 * card.capability[0] + card.capability[1]), _keras_as_on_gpu():
        yield


@contextlib.contextmanager
def _keras_as_on_gpu() -> Iterator[None]:
    """On a processor Keras' argmax has operations more, for negative zeros: another program than the card's."""
    import keras.src.backend.jax.numpy as place

    asks = getattr(place, "_uses_cpu", None)
    if asks is None:  # another Keras
        yield
        return
    place._uses_cpu = lambda _: False
    try:
        yield
    finally:
        place._uses_cpu = asks


def compile_for(traced: Any) -> Compiled:
    """Compiles what was traced with arguments on a target, and reads the plan of buffers."""
    lowered = traced.lower()
    compiled = lowered.compile()
    if "__cudnn$conv" not in compiled.as_text():
        # Without a target on every argument jax compiles for the CPU instead, and says nothing.
        raise HoldfastError(
            "the step was compiled for another kind of device than the card",
            where="ahead of time",
            change="holdfast plan with --quick, which compiles nothing",
        )
    found = compiled.memory_analysis()
    return Compiled(
        argument_bytes=int(found.argument_size_in_bytes),
        output_bytes=int(found.output_size_in_bytes),
        alias_bytes=int(found.alias_size_in_bytes),
        temp_bytes=int(found.temp_size_in_bytes),
        program=program_of(lowered),
    )


def program_of(lowered: Any) -> str:
    """The first 16 hex digits of the SHA-256 of the program before the compiler.

    Without the values of its constants: anchors are computed where the process runs, and differ in the last bit; and
    without the insides of our own kernels, which name the folder that their source lies in.
    """
    text = re.sub(r"dense<[^>]*>", "dense<>", lowered.as_text())
    text = re.sub(r'\bir = "[^"]*"', 'ir = ""', text)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
