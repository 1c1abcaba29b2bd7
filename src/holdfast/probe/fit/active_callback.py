"""Which callback is running: known from the list that Keras iterates over, in the thread that trains."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from ...typing_names import Protocol
from ..runtime import frame_locals
from ..runtime.context import ProbeContext

#: Hooks before whose first callback Keras has just made Python numbers of the logs, which are read there.
WITH_LOGS = ("on_epoch_end", "on_test_end")
BATCH_END = "on_train_batch_end"  # there too, but between steps, where every call counts


PART = "active_callback"


class CallbackObserver(Protocol):
    def callbacks_begin(self, hook: str) -> None: ...
    def batch_callbacks_begin(self) -> None: ...
    def callback_begins(self, index: int) -> None: ...


class _ActiveCallback(threading.local):
    """What this thread is in. Written by the wrappers of this package, around every call of a callback."""

    hook: str | None = None
    callbacks: Any = None  # the list whose hook it is: a callback may fit another model, which has its own
    callback: Any = None
    argument: Any = None
    logs: Any = None


active = _ActiveCallback()


class ObservedCallbacks(list):
    """The callbacks; iterating over them shows which one is running."""

    def __init__(self, callbacks: list[Any], observer: CallbackObserver) -> None:
        super().__init__(callbacks)
        self._observer = observer
        self._plans: dict[str, tuple[int, set[int]]] = {}  # by hook: how many there were, and which have it
        self.plan_batches()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A copy of it, and what pickle makes of it, is the plain list that it would be without us."""
        return list, (list(list.__iter__(self)),)

    def plan_batches(self) -> None:
        """Whether any does something there: once an epoch, so that a step need not look it up."""
        self.at_batch_begin = bool(self.having("on_train_batch_begin"))
        self.at_batch_end = bool(self.having(BATCH_END))

    def having(self, hook: str) -> set[int]:
        """Which of them do anything there."""
        plan = self._plans.get(hook)
        if plan is None or plan[0] != len(self):
            having = {index for index, one in enumerate(list.__iter__(self)) if overrides(one, hook)}
            plan = self._plans[hook] = len(self), having
        return plan[1]

    def __iter__(self) -> Iterator[Any]:
        hook = active.hook
        if hook is None or active.callbacks is not self:
            return super().__iter__()
        if hook is BATCH_END:
            self._observer.batch_callbacks_begin()
            return self._observed(self._plans[BATCH_END][1])
        if hook in WITH_LOGS:
            self._observer.callbacks_begin(hook)
        having = self.having(hook)
        return self._observed(having) if having else super().__iter__()

    def _observed(self, having: set[int]) -> Iterator[Any]:
        observer = self._observer
        for index, callback in enumerate(list.__iter__(self)):
            if index in having:
                active.callback = callback
                observer.callback_begins(index)
            yield callback
        active.callback = None


def call_observed(
    context: ProbeContext, hook: str, original: Callable[..., Any], keras_list: Any, *args: Any, **kwargs: Any
) -> Any:
    """Calls a method of Keras's list so that each callback is known as it runs, and the one that raises."""
    outer = active.hook, active.callbacks, active.callback
    active.hook, active.callbacks = hook, keras_list.callbacks
    try:
        return original(keras_list, *args, **kwargs)
    except BaseException as error:
        context.guard(PART, raised, context, error)
        raise
    finally:
        active.hook, active.callbacks, active.callback = outer


def raised(context: ProbeContext, error: BaseException) -> None:
    """An exception has left the list: the callback that it came from is a variable in the frame of Keras's loop."""
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name.startswith(("on_", "_on_", "_call_")):
            callback = frame_locals.of(frame).get("callback")
            if callback is not None:
                context.exceptions.left_call(error, "callback", callback=type(callback).__name__)
                return
        trace = trace.tb_next


def running() -> Any:
    """The callback that this thread is in, if any."""
    return active.callback


def overrides(callback: Any, hook: str) -> bool:
    """Whether this callback does anything there. A LambdaCallback has its methods in the object itself."""
    names = {hook, hook.replace("train_batch", "batch")} if "train_batch" in hook else {hook}
    if names & getattr(callback, "__dict__", {}).keys():
        return True
    owners = [base for base in type(callback).__mro__ if names & vars(base).keys()]
    return bool(owners) and owners[0].__name__ != "Callback"
