"""Sentences with places for values: "the disk had {free_bytes:size} left[ at {path}]".

A place names a value and how it is printed: `size`, `duration`, `seconds`, `count`, `count step`,
`count process/processes`, `number`, `percent`, `clip 120`, `code 90` (a piece of code), `list 5`, `or a file` (instead
of an empty value); else as it is. What is in square brackets is left out when one of its values is missing, empty
or False. `{value:if}` prints nothing: it only decides about its brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from holdfast import units

#: A template, or a function of the values where a template is not enough.
Text: TypeAlias = str | Callable[[Mapping[str, Any]], str]

_PLACE = re.compile(r"\{(\w+)(?::([^}]*))?\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_QUOTE_LENGTH, _CODE_LENGTH, _LIST_LENGTH = 160, 90, 5


def filled(text: Text, values: Mapping[str, Any]) -> str:
    """The sentence. A value that a place outside of brackets names must be there."""
    if not isinstance(text, str):
        return text(values)

    def optional(part: re.Match[str]) -> str:
        names = [place[1] for place in _PLACE.finditer(part[1])]
        if not names:  # brackets of code, as in "subprocess.run([…])"
            return part[0]
        return _places(part[1], values) if all(_is_there(values.get(name)) for name in names) else ""

    # Brackets first: what is filled in may hold brackets of its own.
    parts, end = [], 0
    for part in _OPTIONAL.finditer(text):
        parts += [_places(text[end : part.start()], values), optional(part)]
        end = part.end()
    return "".join([*parts, _places(text[end:], values)])


def _is_there(value: Any) -> bool:
    return value is not None and value is not False and value != "" and value != [] and value != ()


def _places(text: str, values: Mapping[str, Any]) -> str:
    return _PLACE.sub(lambda place: printed(values[place[1]], place[2] or ""), text)


def printed(value: Any, how: str) -> str:
    name, _, rest = how.partition(" ")
    if not name:
        return str(value)
    if name == "if":
        return ""
    if name == "or":
        return str(value) if _is_there(value) else rest
    if name == "count":
        one, _, many = rest.partition("/")
        return units.count(value, one, many)
    if name == "list":
        return listed(value, int(rest or _LIST_LENGTH))
    if name == "clip":
        return clipped(str(value), int(rest or _QUOTE_LENGTH))
    if name == "code":
        return f"`{clipped(str(value), int(rest or _CODE_LENGTH))}`"
    return _UNITS[name](value)


_UNITS: dict[str, Callable[[Any], str]] = {
    "size": units.size,
    "duration": units.duration,
    "seconds": units.exact_seconds,
    "number": units.number,
    "percent": units.percent,
}

#: What may follow the colon of a place. A test looks for others: an unknown one costs the sentence.
HOW_PRINTED = frozenset({"if", "or", "count", "list", "clip", "code", *_UNITS})


def clipped(text: str, length: int = _QUOTE_LENGTH) -> str:
    """One line of it, cut with a mark."""
    line = " ".join(_COLOUR.sub("", text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def listed(names: Sequence[Any], most: int = _LIST_LENGTH) -> str:
    """ "a, b, c and 4 more" """
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
