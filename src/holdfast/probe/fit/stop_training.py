"""Who set `model.stop_training`, and from which line: a data descriptor in the place of the plain attribute."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from ...journal.events import StopRequested
from ..runtime import frame_locals, user_lines
from ..runtime.context import ProbeContext
from . import active_callback, callback_settings

PART = "stop_training"
_NAME = "stop_training"
_SETTERS = ("__setattr__", "_setattr_hook", "__set__", "wrapper", "method_wrapper")


class StopFlag:
    """Keeps the value where it was kept before, in the model's __dict__, and records when it turns true."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None or _NAME not in model.__dict__:
            raise AttributeError(f"{getattr(owner, '__name__', 'model')!r} object has no attribute {_NAME!r}")
        return model.__dict__[_NAME]

    def __set__(self, model: Any, value: Any) -> None:
        turned_true = bool(value) and not model.__dict__.get(_NAME)
        model.__dict__[_NAME] = value
        if turned_true:
            self._context.guard(PART, stop_requested, self._context, sys._getframe(1))

    def __delete__(self, model: Any) -> None:
        try:
            del model.__dict__[_NAME]
        except KeyError:
            raise AttributeError(_NAME) from None


def install(context: ProbeContext, kind: type) -> None:
    if _NAME not in vars(kind):
        setattr(kind, _NAME, StopFlag(context))


def stop_requested(context: ProbeContext, frame: FrameType | None) -> None:
    callback = active_callback.running() or _callback_of(frame)
    setter = _setting_frame(frame)
    heartbeat = context.heartbeat
    context.fits.record_notable(
        StopRequested(
            by=type(callback).__name__ if callback is not None else "script",
            where=user_lines.of_frame(setter),
            epoch=heartbeat.epoch,
            step=heartbeat.step,
            settings=callback_settings.settings_of(callback) if callback is not None else {},
            logs=context.losses.numbers(context.losses.last_logs),
        ),
    )


def _setting_frame(frame: FrameType | None) -> FrameType | None:
    """The frame that wrote `model.stop_training = …`: Keras's own __setattr__ methods are in between."""
    while frame is not None and frame.f_code.co_name in _SETTERS:
        frame = frame.f_back
    return frame


def _callback_of(frame: FrameType | None) -> Any:
    """The nearest `self` outwards that looks like a callback, for a callback called by the user's own loop."""
    while frame is not None:
        owner = frame_locals.of(frame).get("self")
        kind = type(owner)
        is_callback = hasattr(kind, "on_epoch_end") and hasattr(kind, "set_model")
        if is_callback and kind.__name__ != "CallbackList":
            return owner
        frame = frame.f_back
    return None
