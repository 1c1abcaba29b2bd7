"""Warnings that may explain a run's end, seen also when the script has silenced them."""

from __future__ import annotations

import logging
import re
import sys
import warnings
from types import FrameType
from typing import Any

from ...journal.events import WarningSeen
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.wrapping import Function, replace

PART = "framework_warnings"
_LOGGERS = ("tensorflow", "absl", "keras", "tf_keras", "jax", "jax._src")
_PACKAGES = ("keras", "tf_keras", "tensorflow", "jax", "torch", "numpy", "h5py")
_DULL = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)
_OTHERS = 30  # different warnings of frameworks that match no pattern

#: category -> what its text contains
PATTERNS = {
    "retracing": r"triggered tf\.function retracing",
    "out-of-data": r"ran out of data",
    "optimizer-not-restored": r"Skipping variable loading for optimizer",
    "monitor-missing": r"conditioned on metric|Can save best model only with|metric `.*` which is not available",
    "no-gradients": r"Gradients do not exist",
    "nothing-trainable": r"does not have any trainable weights|trainable weights.*no trainable",
    "shape-mismatch": r"Skipping loading (of )?weights|shape mismatch|were not used",
    "restore-incomplete": r"Value in checkpoint could not be found|Detecting that an object or model or tf\.train",
    "gpu": r"Cannot dlopen|Could not find cuda|no CUDA-capable|GPU will not be used|no GPU/TPU found",
    "fork": r"os\.fork\(\) was called|multi-threaded, use of fork",
    "eager": r"run_eagerly|eager execution",
    "cache": r"cache.*(not|partially) (fully|cached)|The calling iterator did not fully read the dataset",
    "input-structure": r"structure of `inputs` doesn't match",
    "py-dataset": r"Your `PyDataset` class should call",
    "compile-lost": r"No training configuration found|compiled the loaded model|compile_metrics` have yet to be built",
    "autograph": r"AutoGraph could not transform",
    "callback-slow": r"Callback method `.*` is slow compared",
    "numerics": r"overflow encountered|invalid value encountered|divide by zero",
}
_COMPILED = {name: re.compile(pattern, re.IGNORECASE | re.DOTALL) for name, pattern in PATTERNS.items()}


class FrameworkWarnings:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._counts: dict[str, int] = {}
        self._others = 0

    def take(self, text: str, source: str) -> None:
        """Records a warning the first time, and at each doubling of its count."""
        category = classify(text)
        if not category and self._others >= _OTHERS:
            return
        key = category + re.sub(r"\d+|0x[0-9a-f]+", "#", text[:160])
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count == 1 and not category:
            self._others += 1
        if count & (count - 1) == 0:
            self._context.record(
                WarningSeen(
                    category=category or source, text=text[:1000], where=user_lines.caller_line(), count=count
                )
            )


def classify(text: str) -> str:
    return next((name for name, pattern in _COMPILED.items() if pattern.search(text)), "")


def watch(context: ProbeContext) -> None:
    replace(warnings, "warn", lambda original: _warn(context, original))
    observer = _LogObserver(context)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(observer)


class _LogObserver(logging.Filter):
    """Lets every record pass."""

    def __init__(self, context: ProbeContext) -> None:
        super().__init__()
        self._context = context

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.WARNING:
            self._context.guard(PART, lambda: self._context.warnings.take(record.getMessage(), record.name))
        return True


def _warn(context: ProbeContext, original: Function) -> Function:
    """`warnings.warn` itself, for a filter would hide what is silenced. One frame more, so one level more."""

    def warn(
        message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **more: Any
    ) -> None:
        context.guard(PART, _take, context.warnings, message, category, sys._getframe(1))
        least = 2 if more.get("skip_file_prefixes") else 1  # as Python itself has it
        original(message, category, max(least, stacklevel) + 1, source, **more)

    return warn


def _take(log: FrameworkWarnings, message: Any, category: Any, frame: FrameType) -> None:
    kind = type(message) if isinstance(message, Warning) else category or UserWarning
    if not classify(str(message)):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        ours = package in _PACKAGES or user_lines.is_user_file(frame.f_code.co_filename)
        if not ours or issubclass(kind, _DULL):
            return
    log.take(str(message), kind.__name__)
