"""Puts an observer around a function of the user's frameworks. What the function does stays untouched."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .context import ProbeContext

Before = Callable[[tuple[Any, ...], dict[str, Any]], Any]
After = Callable[[Any, Any], None]
Failed = Callable[[Any, BaseException], None]


def observe(
    session: ProbeContext,
    owner: Any,
    name: str,
    part: str,
    *,
    before: Before | None = None,
    after: After | None = None,
    failed: Failed | None = None,
) -> bool:
    """Replaces `owner.name` by itself with observers around it; False when it is not there.

    `before` gets the arguments and returns a token, `after` the token and the result, `failed` the token
    and the exception. The replacement keeps the module and the name of the original, so that AutoGraph
    treats it the same way.
    """
    original = vars(owner).get(name)
    if original is None or not callable(original) or hasattr(original, "_holdfast_original"):
        return False
    if isinstance(
        original, staticmethod | classmethod
    ):  # a function in its place would be given an object too much
        return False

    @functools.wraps(original)
    def observed(*args: Any, **kwargs: Any) -> Any:
        if not session.on(part):
            return original(*args, **kwargs)
        token = session.guard(part, before, args, kwargs) if before is not None else None
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            if failed is not None:
                session.guard(part, failed, token, error)
            raise
        if after is not None:
            session.guard(part, after, token, result)
        return result

    observed._holdfast_original = original  # type: ignore[attr-defined]
    if isinstance(owner, ModuleType):
        observed.__module__ = owner.__name__  # where it can be found under its name, as pickle wants it
    setattr(owner, name, observed)
    return True
