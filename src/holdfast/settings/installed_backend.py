"""Which backend of Keras this Python has. Nothing is imported for it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import util

from holdfast.errors import DependencyMissing

EXTRAS = {"tensorflow": "cpu", "jax": "jax"}


def _installed(name: str) -> bool:
    try:
        return util.find_spec(name) is not None
    except (ImportError, ValueError):  # put aside in sys.modules
        return False


def default_backend(installed: Callable[[str], bool] = _installed) -> str:
    """JAX where it is the only one; else TensorFlow, also where there is neither, for messages name it."""
    return "jax" if installed("jax") and not installed("tensorflow") else "tensorflow"


def require_backend(backend: str, installed: Callable[[str], bool] = _installed) -> None:
    """Raises where the backend that a recipe names is not installed."""
    if installed(backend):
        return
    other = next(one for one in EXTRAS if one != backend)
    raise DependencyMissing(
        f"this recipe trains on {backend}, which is not installed",
        found=f"{other} is installed" if installed(other) else f"{other} is not installed either",
        change=[
            f'pip install "holdfast[{EXTRAS[backend]}]"',
            *([f'train.backend = "{other}" in the recipe'] if installed(other) else []),
        ],
    )
