"""The folder where compiled steps are kept between runs, so that the second start does not compile again.

For JAX on an NVIDIA GPU, where a detector takes one to three minutes to compile and a few seconds to load.
Programs for the CPU are not kept: they fit one model of CPU only, and compile faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VARIABLE = "JAX_COMPILATION_CACHE_DIR"


def folder_for(backend: str, environment: Mapping[str, str], *, has_gpu: bool, home: Path) -> Path | None:
    """None when nothing is kept, or when the user has set the variable (an empty value turns the cache off)."""
    if backend != "jax" or not has_gpu or VARIABLE in environment:
        return None
    cache = environment.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else home / ".cache") / "holdfast" / "compiled-jax"


def has_nvidia_gpu() -> bool:
    return Path("/dev/nvidiactl").exists()
