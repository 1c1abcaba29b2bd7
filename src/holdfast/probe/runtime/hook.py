"""What a part does when a module that it observes has been imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .context import ProbeContext


class Hook(NamedTuple):
    """`install(context, module)` is called once, after `module` has been imported; if it raises, `part` is off."""

    part: str
    module: str
    install: Callable[[ProbeContext, Any], None]
