"""Which framework, which version, which devices, with what settings of the environment."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from ...journal.events import FrameworkSeen
from ..runtime.context import ProbeContext

_PREFIXES = (
    "TF_",
    "XLA_",
    "KERAS_",
    "JAX_",
    "CUDA_",
    "OMP_",
    "MKL_",
    "NCCL_",
    "OPENBLAS_",
    "KMP_",
    "PYTORCH_",
)
_NAMES = ("LD_PRELOAD", "LD_LIBRARY_PATH", "MALLOC_ARENA_MAX", "NVIDIA_VISIBLE_DEVICES", "PYTHONHASHSEED")
_LONG_COMPILE_S = 0.05
PARAMETERS_ON = "parameters_on"  # of session.seen
_PRIVATE = ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL")
_PACKAGES = (
    "keras", "tensorflow", "tensorflow-cpu", "tf-keras", "jax", "jaxlib", "torch", "numpy", "h5py", "protobuf",
    "ml-dtypes",
    "keras-hub", "keras-cv", "nvidia-cudnn-cu12", "nvidia-cuda-runtime-cu12", "jax-cuda12-plugin", "jax-cuda13-plugin",
    "tensorflow-metal", "opencv-python", "pillow",
)  # fmt: skip


def keras_imported(session: ProbeContext, module: Any) -> None:
    backend = getattr(sys.modules.get("keras.src.backend.config"), "backend", None)
    _say(session, module, "keras", backend=str(backend()) if callable(backend) else "tensorflow")


def tf_keras_imported(session: ProbeContext, module: Any) -> None:
    _say(session, module, "tf_keras", backend="tensorflow")


def tensorflow_imported(session: ProbeContext, module: Any) -> None:
    build: dict[str, Any] = getattr(getattr(module, "sysconfig", None), "get_build_info", dict)()
    _say(session, module, "tensorflow", built_with_cuda=bool(build.get("is_cuda_build")))


def jax_imported(session: ProbeContext, module: Any) -> None:
    _say(session, module, "jax")
    session.guard("traces", _count_compiles, session)
    from ..loops import jax_jit

    session.guard(jax_jit.PART, jax_jit.hook, session, module)


def _count_compiles(session: ProbeContext) -> None:
    """JAX tells of each compilation; the many of a moment are single operations and not worth a word."""
    from jax import monitoring

    from ..loops import function_traces

    counted = function_traces.of(session)

    def told(event: str, duration_secs: float, **more: Any) -> None:
        if event.endswith("backend_compile_duration") and duration_secs >= _LONG_COMPILE_S:
            session.guard("traces", counted.compiled, str(more.get("fun_name", "")), round(duration_secs, 3))

    monitoring.register_event_duration_secs_listener(told)


class _Devices(NamedTuple):
    """`kinds` has one for each of `names`: a name such as "NVIDIA H200" does not say that it is a GPU."""

    names: list[str]
    kinds: list[str]
    threads: dict[str, int]


def devices_seen(session: ProbeContext) -> None:
    """Once training has begun, when the framework has opened its devices by itself."""
    if session.seen.get("devices_said"):
        return
    session.seen["devices_said"] = True
    for name, read in (("tensorflow", _tensorflow_devices), ("jax", _jax_devices), ("torch", _torch_devices)):
        module = sys.modules.get(name)
        found = read(module) if module is not None else None
        if found is not None and found.names:
            session.say(
                FrameworkSeen(
                    name=name,
                    version=str(getattr(module, "__version__", "")),
                    devices=found.names,
                    device_kinds=found.kinds,
                    parameters_on=session.seen.get(PARAMETERS_ON, []) if name == "torch" else [],
                    threads=found.threads,
                    environment=_modes(),
                )
            )


def _modes() -> dict[str, str]:
    """Switches that slow everything down and are easily forgotten."""
    eager = sys.modules.get("tensorflow.python.eager.polymorphic_function.eager_function_run")
    return {"functions_run_eagerly": "true"} if getattr(eager, "RUN_FUNCTIONS_EAGERLY", False) else {}


def _tensorflow_devices(module: Any) -> _Devices | None:
    context = sys.modules.get("tensorflow.python.eager.context")
    found = context.context() if context is not None else None
    if found is None or getattr(found, "_context_handle", None) is None:  # not opened: asking would open it
        return None
    devices = found.list_physical_devices()
    threads = {
        "inter_op": found.inter_op_parallelism_threads,
        "intra_op": found.intra_op_parallelism_threads,
    }
    names = [str(device.name).replace("/physical_device:", "") for device in devices]
    return _Devices(names, [str(device.device_type).lower() for device in devices], threads)


def _jax_devices(module: Any) -> _Devices | None:
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not getattr(bridge, "_backends", None):
        return None
    devices = module.local_devices()
    names = [f"{device.platform}:{device.id} {device.device_kind}" for device in devices]
    return _Devices(names, [str(device.platform) for device in devices], {})


def _torch_devices(module: Any) -> _Devices:
    """Of what is open: asking for a device that is not would open it, in a process that may fork later."""
    for kind in ("cuda", "xpu"):
        part = getattr(module, kind, None)
        if part is not None and part.is_initialized():
            names = [str(part.get_device_name(number)) for number in range(part.device_count())]
            return _Devices(names, [kind] * len(names), {})
    return _Devices(["cpu"], ["cpu"], {"intra_op": module.get_num_threads()})


def torch_imported(session: ProbeContext, module: Any) -> None:
    built = getattr(getattr(module, "version", None), "cuda", None) is not None
    _say(session, module, "torch", built_with_cuda=built)


def _say(
    session: ProbeContext, module: Any, name: str, *, backend: str = "", built_with_cuda: bool | None = None
) -> None:
    first = not session.seen.get("environment_said")
    session.seen["environment_said"] = True
    session.say(
        FrameworkSeen(
            name=name,
            version=str(getattr(module, "__version__", "")),
            backend=backend,
            versions=_versions() if first else {},
            environment=_environment() if first else {},
            built_with_cuda=built_with_cuda,
        )
    )


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _environment() -> dict[str, str]:
    return {
        name: value[:300]
        for name, value in sorted(os.environ.items())
        if (name.startswith(_PREFIXES) or name in _NAMES) and not any(word in name for word in _PRIVATE)
    }
