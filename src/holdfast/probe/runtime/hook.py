"""What a part does when a module that it observes has been imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .context import ProbeContext


class Hook(NamedTuple):
    """`install(context, module)` is called once, after `module` has been imported; if it raises, `part` is off."""

    part: str
    module: str
    install: Callable[[ProbeContext, Any], None]


def below(roots: Iterable[str], hooks: Iterable[Hook]) -> tuple[Hook, ...]:
    """Hooks of modules whose names are given relative to a package, which versions keep in different places."""
    return tuple(hook._replace(module=f"{root}.{hook.module}") for root in roots for hook in hooks)
