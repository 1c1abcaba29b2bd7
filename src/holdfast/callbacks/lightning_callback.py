"""`holdfast.LightningCallback()` for `Trainer(callbacks=[…])`: lightning and pytorch_lightning."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.callbacks.watched_fit import WatchedFit


def LightningCallback(run_dir: str | Path | None = None, *, quiet: bool = False) -> Any:
    """A callback that watches this process from now until the fit ends, and then prints the verdict.

    Under `holdfast run` it does nothing.
    """
    base = _base()

    class _HoldfastCallback(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            self.watched = WatchedFit(run_dir, quiet=quiet)

        @property
        def run_dir(self) -> Path | None:
            return self.watched.folder

        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            self.watched.begin_again()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self.watched.end(exception)

        def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
            self.watched.end()

    return _HoldfastCallback()


def _base() -> Any:
    """Lightning's own class, of the package that the script has imported."""
    for name in ("lightning.pytorch", "pytorch_lightning"):
        if name in sys.modules:
            return sys.modules[name].Callback
    try:
        return import_module("lightning.pytorch").Callback
    except ImportError:
        return import_module("pytorch_lightning").Callback
