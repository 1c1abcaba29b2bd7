"""How many steps a script means to do, by the variables of the functions that are under way and its arguments.

Asked when a trained state is restored: a script whose goal is behind that state does no step, and says nothing.
"""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any, NamedTuple

from ..runtime import frame_locals

_MAX_FRAMES = 30
_NAME = re.compile(r"(?:^|_)(?:steps|iterations|iters|max_iter|max_step)$", re.IGNORECASE)
#: Steps of something else: of an epoch, between two logs, before the learning rate is full.
_PARTS = re.compile(
    r"per|every|each|warm|eval|val|valid|test|log|save|check|accum|decay|report|print|skip|freeze|inner", re.I
)
_ARGUMENT = re.compile(r"--?([\w-]+)(?:=(\d+))?$")
_FRAMEWORKS = re.compile(r"-packages/(?:tensorflow|keras|tf_keras|absl|jax|torch)/|/holdfast/probe/|^<frozen")


class PlannedSteps(NamedTuple):
    name: str
    steps: int


def find(at_most: int) -> PlannedSteps | None:
    """The plan that a state after `at_most` steps has reached; None without one, or where one is not reached."""
    found = _in_frames(sys._getframe(1)) or _in_arguments(list(getattr(sys, "argv", [])))
    if any(plan.steps > at_most for plan in found):
        return None
    return found[0] if found else None


def _in_frames(frame: FrameType | None) -> list[PlannedSteps]:
    """Of the innermost function that has any."""
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        if not _FRAMEWORKS.search(frame.f_code.co_filename):
            variables = frame_locals.of(frame)
            found = [PlannedSteps(name, value) for name, value in variables.items() if _is_plan(name, value)]
            if found:
                return found
        frame = frame.f_back
    return []


def _in_arguments(argv: list[str]) -> list[PlannedSteps]:
    found = []
    for at, word in enumerate(argv):
        argument = _ARGUMENT.match(word)
        given = argument[2] or (argv[at + 1] if at + 1 < len(argv) else "") if argument else ""
        if argument and given.isdigit() and _is_plan(argument[1].replace("-", "_"), int(given)):
            found.append(PlannedSteps(argument[1], int(given)))
    return found


def _is_plan(name: str, value: Any) -> bool:
    plain = type(value) is int and value > 0
    return plain and _NAME.search(name) is not None and _PARTS.search(name) is None
