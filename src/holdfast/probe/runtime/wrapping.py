"""Puts an observer around a function of the user's frameworks. What the function does stays untouched.

Every wrapper of the probe is put in its place by `replace`. Three ways to observe:

- `observe`: guarded functions before, after and on failure. For everything that is not called at every step.
- `replace` alone: for hot paths. The caller builds one flat function, because every call between two steps costs
  microseconds.
- `observe_iterator`: `__next__`, where StopIteration is the end of the data and no failure.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Callable, Dict, Tuple

from .context import ProbeContext

Function = Callable[..., Any]
Before = Callable[[Tuple[Any, ...], Dict[str, Any]], Any]
After = Callable[[Any, Any], None]
Failed = Callable[[Any, BaseException], None]


def replace(owner: Any, name: str, build: Callable[[Function], Function]) -> bool:
    """Replaces `owner.name` by `build(original)`; False when it is not there, or is wrapped already.

    The replacement keeps the name and the module of the original, so that AutoGraph treats it the same way and
    pickle finds it.
    """
    original = vars(owner).get(name)
    if original is None or not callable(original) or hasattr(original, "_holdfast_original"):
        return False
    if isinstance(
        original, (staticmethod, classmethod)
    ):  # a plain function would be given one object too many
        return False
    wrapped: Any = functools.wraps(original)(build(original))
    wrapped._holdfast_original = original
    if isinstance(owner, ModuleType):
        wrapped.__module__ = owner.__name__
    setattr(owner, name, wrapped)
    return True


def observe(
    context: ProbeContext,
    owner: Any,
    name: str,
    part: str,
    *,
    before: Before | None = None,
    after: After | None = None,
    failed: Failed | None = None,
) -> bool:
    """Observers around `owner.name`, each guarded as `part`; False when it is not there.

    `before` gets the arguments and returns a token, `after` the token and the result, `failed` the token
    and the exception.
    """

    def build(original: Function) -> Function:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if not context.is_on(part):
                return original(*args, **kwargs)
            token = context.guard(part, before, args, kwargs) if before is not None else None
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                if failed is not None:
                    context.guard(part, failed, token, error)
                raise
            if after is not None:
                context.guard(part, after, token, result)
            return result

        return wrapped

    return replace(owner, name, build)


def observe_iterator(
    context: ProbeContext,
    kind: type,
    part: str,
    *,
    before: Callable[[Any], Any],
    after: After,
    exhausted: Callable[[Any], None] | None = None,
    failed: Failed | None = None,
    method: str = "__next__",
) -> bool:
    """Observers around `kind.__next__`: `before` gets the iterator, `after` the token and the element."""

    def ended(token: Any, error: BaseException) -> None:
        if isinstance(error, StopIteration):
            if exhausted is not None:
                exhausted(token)
        elif failed is not None:
            failed(token, error)

    return observe(
        context,
        kind,
        method,
        part,
        before=lambda args, kwargs: before(args[0]),
        after=after,
        failed=ended,
    )
