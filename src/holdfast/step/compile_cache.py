"""Where compiled steps are kept between runs, so that the second start does not compile again.

For JAX on an NVIDIA card, where a detector takes a minute or three to compile and a few seconds to read back.
Programs for a CPU are not kept: they are tied to the very processor, and compile sooner.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VARIABLE = "JAX_COMPILATION_CACHE_DIR"


def folder_for(backend: str, environment: Mapping[str, str], *, has_card: bool, home: Path) -> Path | None:
    """The folder to use, or None: where there is nothing to keep, or the user has said (an empty value: nowhere)."""
    if backend != "jax" or not has_card or VARIABLE in environment:
        return None
    cache = environment.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else home / ".cache") / "holdfast" / "compiled-jax"


def has_nvidia_gpu() -> bool:
    return Path("/dev/nvidiactl").exists()
