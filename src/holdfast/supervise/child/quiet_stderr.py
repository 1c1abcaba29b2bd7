"""Keeps TensorFlow's known chatter off the screen of a command that loads it into its own process."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.supervise.child.tensorflow_noise import TensorFlowNoiseFilter

_FLUSH_TIMEOUT_S = 2.0  # for the last words, where something that was started still holds the other end


@contextmanager
def filter_tensorflow_noise() -> Iterator[None]:
    """TensorFlow writes past `sys.stderr`, so it is the descriptor that is filtered. HOLDFAST_DEBUG shows all."""
    if os.environ.get("HOLDFAST_DEBUG"):
        yield
        return
    sys.stderr.flush()
    screen, (read_end, write_end) = os.dup(2), os.pipe()
    os.dup2(write_end, 2)
    os.close(write_end)
    passing = threading.Thread(target=_copy_filtered, args=(read_end, screen), daemon=True)
    passing.start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(screen, 2)
        passing.join(_FLUSH_TIMEOUT_S)


def _copy_filtered(read_end: int, screen: int) -> None:
    hush = TensorFlowNoiseFilter()
    with os.fdopen(read_end, "rb", buffering=0) as source:
        while data := source.read(1 << 16):
            os.write(screen, hush.shown(data))
    os.write(screen, hush.rest())
    os.close(screen)
