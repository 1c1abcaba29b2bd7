"""`holdfast.KerasCallback()` for `model.fit(…, callbacks=[…])`: Keras 3, tf.keras and tf_keras."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from holdfast.callbacks.watched_fit import WatchedFit


def KerasCallback(run_dir: str | Path | None = None, *, quiet: bool = False) -> Any:  # a class to its user
    """A callback that watches this process from now until the fit ends, and then prints the verdict.

    Make it before the call of `fit`, in a line of its own. Under `holdfast run` it does nothing.
    """
    base = _base()

    class _HoldfastCallback(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            self.watched = WatchedFit(run_dir, quiet=quiet)

        @property
        def run_dir(self) -> Path | None:
            return self.watched.folder

        def on_train_begin(self, logs: Any = None) -> None:
            self.watched.begin_again()

        def on_train_end(self, logs: Any = None) -> None:
            self.watched.end()

    return _HoldfastCallback()


def _base() -> Any:
    """Keras' own class, of the Keras that the script has imported."""
    for name in ("tf_keras", "keras"):
        if name in sys.modules:
            return sys.modules[name].callbacks.Callback
    import keras

    return keras.callbacks.Callback
