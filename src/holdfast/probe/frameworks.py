"""Which framework, which version, which devices, with what settings of the environment."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..journal.events import FrameworkSeen
from .session import Session

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
_PRIVATE = ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL")
_PACKAGES = (
    "keras", "tensorflow", "tensorflow-cpu", "tf-keras", "jax", "jaxlib", "torch", "numpy", "h5py", "protobuf",
    "ml-dtypes",
    "keras-hub", "keras-cv", "nvidia-cudnn-cu12", "nvidia-cuda-runtime-cu12", "jax-cuda12-plugin", "jax-cuda13-plugin",
    "tensorflow-metal", "opencv-python", "pillow",
)  # fmt: skip


def keras_imported(session: Session, module: Any) -> None:
    backend = getattr(sys.modules.get("keras.src.backend.config"), "backend", None)
    _say(session, module, "keras", backend=str(backend()) if callable(backend) else "tensorflow")


def tf_keras_imported(session: Session, module: Any) -> None:
    _say(session, module, "tf_keras", backend="tensorflow")


def tensorflow_imported(session: Session, module: Any) -> None:
    build: dict[str, Any] = getattr(getattr(module, "sysconfig", None), "get_build_info", dict)()
    _say(session, module, "tensorflow", built_with_cuda=bool(build.get("is_cuda_build")))


def jax_imported(session: Session, module: Any) -> None:
    _say(session, module, "jax")


def torch_imported(session: Session, module: Any) -> None:
    built = getattr(getattr(module, "version", None), "cuda", None) is not None
    _say(session, module, "torch", built_with_cuda=built)


def _say(
    session: Session, module: Any, name: str, *, backend: str = "", built_with_cuda: bool | None = None
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
