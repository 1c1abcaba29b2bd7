"""Values of a record as its fields declare them: what a damaged or a foreign file holds instead is left out.

A record of another version of Holdfast may lack a field or have more. A value of another type, a number that no clock
or counter has, or lists a thousand levels deep are none of its: the field takes its default, and whoever reads counts.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

#: Larger than any size, count or identifier that is written; Python would take numbers of any length.
LARGEST = 1 << 64
#: Characters of a text; the longest that is written is a message of 4,000. What looks for words in it has its limits.
LONGEST_TEXT = 8000
_DEEPEST = 40
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}  # as the writer spells what JSON has not

Check = Callable[[Any, int], Any]  # the value as it may be used; _Misfit where it does not fit


class _Misfit(Exception):
    pass


def fitting(kind: type, values: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The values that fit the fields of `kind`, and how many did not. Names that it does not have are left out."""
    kept: dict[str, Any] = {}
    misfits = 0
    for name, check in _checks(kind).items():
        if name in values:
            try:
                kept[name] = check(values[name], 0)
            except _Misfit:
                misfits += 1
    return kept, misfits


def plain(value: Any) -> Any:
    """Any JSON value, or None where it has a number without bounds or is nested without end."""
    try:
        return _anything(value, 0)
    except _Misfit:
        return None


@functools.cache
def _checks(kind: type) -> dict[str, Check]:
    declared: dict[str, Any] = {}
    names = {**vars(typing), **vars(sys.modules[kind.__module__])}
    for name, annotation in kind.__annotations__.items():
        hint = eval(annotation, names) if isinstance(annotation, str) else annotation
        if typing.get_origin(hint) is not typing.ClassVar:
            declared[name] = hint
    return {name: _check_of(hint) for name, hint in declared.items()}


def _check_of(hint: Any) -> Check:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return functools.partial(_one_of, tuple(_check_of(one) for one in inner))
    if origin is typing.Literal:
        return _text  # a newer version may know more words
    if hint is list or origin in (list, tuple):
        return functools.partial(_list, _check_of(inner[0]) if inner else _anything)
    if hint is dict or origin is dict:
        return functools.partial(_dict, _check_of(inner[1]) if inner else _anything)
    return _SIMPLE.get(hint, _anything)


def _one_of(checks: tuple[Check, ...], value: Any, depth: int) -> Any:
    for check in checks:
        try:
            return check(value, depth)
        except _Misfit:
            continue
    raise _Misfit


def _text(value: Any, depth: int) -> str:
    if type(value) is not str:
        raise _Misfit
    return value[:LONGEST_TEXT]


def _flag(value: Any, depth: int) -> bool:
    if type(value) is not bool:
        raise _Misfit
    return value


def _none(value: Any, depth: int) -> None:
    if value is not None:
        raise _Misfit


def _whole(value: Any, depth: int) -> int:
    if type(value) is bool or (type(value) is float and value.is_integer()):
        value = int(value)
    if type(value) is not int or not -LARGEST <= value <= LARGEST:
        raise _Misfit
    return value


def _number(value: Any, depth: int) -> float:
    """The writer spells what is not finite as a word, which `explain` reads as one in a log of losses."""
    if type(value) is float:
        return value
    if type(value) is int and -LARGEST <= value <= LARGEST:
        return value
    if type(value) is str and value in _WORDS:
        return _WORDS[value]
    raise _Misfit


def _list(check: Check, value: Any, depth: int) -> list[Any]:
    if type(value) is not list or depth > _DEEPEST:
        raise _Misfit
    return [check(one, depth + 1) for one in value]


def _dict(check: Check, value: Any, depth: int) -> dict[str, Any]:
    if type(value) is not dict or depth > _DEEPEST:
        raise _Misfit
    kept = {}
    for name, one in value.items():  # a log may have a value that is no number among those that are
        with contextlib.suppress(_Misfit):
            kept[name] = check(one, depth + 1)
    return kept


def _anything(value: Any, depth: int) -> Any:
    if type(value) is int:
        return _whole(value, depth)
    if type(value) is list:
        return _list(_anything, value, depth)
    if type(value) is str:
        return value[:LONGEST_TEXT]
    return _dict(_anything, value, depth) if type(value) is dict else value


_SIMPLE: dict[Any, Check] = {
    str: _text, bool: _flag, int: _whole, float: _number, types.NoneType: _none, None: _none,
}  # fmt: skip
