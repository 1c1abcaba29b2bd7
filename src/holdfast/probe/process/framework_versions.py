"""Which framework, which version, which devices, with what settings of the environment."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from ... import secret_text
from ...journal.events import FrameworkSeen
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook

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
PART = "framework_versions"
_PACKAGES = (
    "keras", "tensorflow", "tensorflow-cpu", "tf-keras", "jax", "jaxlib", "torch", "numpy", "h5py", "protobuf",
    "ml-dtypes",
    "keras-hub", "keras-cv", "nvidia-cudnn-cu12", "nvidia-cuda-runtime-cu12", "jax-cuda12-plugin", "jax-cuda13-plugin",
    "tensorflow-metal", "opencv-python", "pillow",
)  # fmt: skip


class FrameworkLog:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._parameters_on: set[str] = set()  # devices of torch's parameters that an optimizer has changed
        self.new_run()

    def new_run(self) -> None:
        self._environment_recorded = False
        self._devices_recorded = False

    def imported(
        self, module: Any, name: str, *, backend: str = "", built_with_cuda: bool | None = None
    ) -> None:
        first, self._environment_recorded = not self._environment_recorded, True
        self._context.record(
            FrameworkSeen(
                name=name,
                version=str(getattr(module, "__version__", "")),
                backend=backend,
                versions=_versions() if first else {},
                environment=_environment() if first else {},
                environment_set=_set_by_imports() if first else {},
                built_with_cuda=built_with_cuda,
            )
        )

    def parameters_seen(self, devices: set[str]) -> None:
        """Of one more optimizer: a script may train on the CPU first, and on the GPU later."""
        if not devices <= self._parameters_on:
            self._parameters_on |= devices
            if self._devices_recorded:
                self._context.guard(PART, self._record_devices)

    def record_devices(self) -> None:
        """Once training has begun, when the framework has opened its devices by itself."""
        if not self._devices_recorded:
            self._devices_recorded = True
            self._context.guard(PART, self._record_devices)

    def _record_devices(self) -> None:
        for name, read in _DEVICES.items():
            module = sys.modules.get(name)
            devices = read(module) if module is not None else None
            if devices is not None and devices.names:
                self._context.record(
                    FrameworkSeen(
                        name=name,
                        version=str(getattr(module, "__version__", "")),
                        devices=devices.names,
                        device_kinds=devices.kinds,
                        parameters_on=sorted(self._parameters_on) if name == "torch" else [],
                        threads=devices.threads,
                        environment=_modes(),
                    )
                )


class _Devices(NamedTuple):
    """`kinds` has one for each of `names`: a name such as "NVIDIA H200" does not show that it is a GPU."""

    names: list[str]
    kinds: list[str]
    threads: dict[str, int]


def keras_imported(context: ProbeContext, module: Any) -> None:
    backend = getattr(sys.modules.get("keras.src.backend.config"), "backend", None)
    name = str(backend()) if callable(backend) else "tensorflow"
    context.frameworks.imported(module, "keras", backend=name)


def tf_keras_imported(context: ProbeContext, module: Any) -> None:
    context.frameworks.imported(module, "tf_keras", backend="tensorflow")


def tensorflow_imported(context: ProbeContext, module: Any) -> None:
    build: dict[str, Any] = getattr(getattr(module, "sysconfig", None), "get_build_info", dict)()
    context.frameworks.imported(module, "tensorflow", built_with_cuda=bool(build.get("is_cuda_build")))


def jax_imported(context: ProbeContext, module: Any) -> None:
    context.frameworks.imported(module, "jax")


def torch_imported(context: ProbeContext, module: Any) -> None:
    built = getattr(getattr(module, "version", None), "cuda", None) is not None
    context.frameworks.imported(module, "torch", built_with_cuda=built)


def _modes() -> dict[str, str]:
    """Switches that slow everything down and are easily forgotten."""
    places = ("polymorphic_function.eager_function_run", "def_function")  # the second before TensorFlow 2.11
    modules = [sys.modules.get(f"tensorflow.python.eager.{place}") for place in places]
    eager = any(getattr(module, "RUN_FUNCTIONS_EAGERLY", False) is True for module in modules)
    return {"functions_run_eagerly": "true"} if eager else {}


def _tensorflow_devices(module: Any) -> _Devices | None:
    eager = sys.modules.get("tensorflow.python.eager.context")
    opened = eager.context() if eager is not None else None
    if (
        opened is None or getattr(opened, "_context_handle", None) is None
    ):  # reading its devices would open them
        return None
    devices = opened.list_physical_devices()
    threads = {
        "inter_op": opened.inter_op_parallelism_threads,
        "intra_op": opened.intra_op_parallelism_threads,
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


_DEVICES = {"tensorflow": _tensorflow_devices, "jax": _jax_devices, "torch": _torch_devices}


def _versions() -> dict[str, str]:
    if sys.version_info < (3, 8):
        return {}
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _environment() -> dict[str, str]:
    chosen = {
        name: value[:300]
        for name, value in sorted(os.environ.items())
        if name.startswith(_PREFIXES) or name in _NAMES
    }
    return secret_text.environment(chosen)


_CHOICES = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "CUDA_VISIBLE_DEVICES")
_LONGEST_FILE = 1 << 20


def _set_by_imports(initial: str = "/proc/self/environ") -> dict[str, str]:
    """Choices of a device that the process was not started with, and which imported file of the user's names them.

    One that the script itself makes is not among them.
    """
    try:
        with open(initial, "rb") as file:
            given = file.read().split(b"\0")
    except OSError:  # another system
        return {}
    changed = [
        name for name in _CHOICES if name in os.environ and f"{name}={os.environ[name]}".encode() not in given
    ]
    return {name: where for name, where in ((name, _named_by_import(name)) for name in changed) if where}


def _named_by_import(variable: str) -> str:
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(path, str) or not user_lines.is_user_file(path):
            continue
        try:
            if not path.endswith(".py") or os.path.getsize(path) > _LONGEST_FILE:
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            if variable in line and "environ" in line:
                return f"{os.path.basename(path)}:{number}"
    return ""


HOOKS = {
    "keras": Hook(PART, "keras", keras_imported),
    "tf_keras": Hook(PART, "tf_keras", tf_keras_imported),
    "tensorflow": Hook(PART, "tensorflow", tensorflow_imported),
    "jax": Hook(PART, "jax", jax_imported),
    "torch": Hook(PART, "torch", torch_imported),
}
