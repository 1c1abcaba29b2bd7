"""Holdfast: no Keras training run ends without an answer.

Names are loaded on first use, so that ``import holdfast`` costs nothing.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.2.0"

#: public name -> the module that defines it
_PUBLIC = {
    "HoldfastError": "holdfast.errors",
    "KerasCallback": "holdfast.callbacks.keras_callback",
    "LightningCallback": "holdfast.callbacks.lightning_callback",
    "load_ipython_extension": "holdfast.notebook",
    "unload_ipython_extension": "holdfast.notebook",
    "watch": "holdfast.notebook",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
