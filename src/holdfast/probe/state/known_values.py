"""What expressions of the user's are worth in a function that has not come to them yet. None of the user's code is run.

A name, an attribute, an item of a plain container, arithmetic of whole numbers, a comparison of plain values; what a
call returns only where it is one of a few, such as `int(…)` and `state.get("step", 0)`.
"""

from __future__ import annotations

import ast
import builtins
import operator
import sys
from collections.abc import Callable
from typing import Any

from . import loop_bounds

UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda self: "UNKNOWN"})()
_PLAIN = (bool, int, float, str, type(None))
_CONTAINERS = (dict, list, tuple)
_LARGEST_MEMBER = 1024  # bytes of an array in an npz file that is read again
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


class Made:
    """An object that the script has yet to make."""

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = kind


class Attributes:
    """Attributes that will be assigned, of objects that are there or will be made."""

    def __init__(self) -> None:
        self._values: dict[tuple[int, str], Any] = {}
        self._restored: set[tuple[int, str]] = set()
        self._owners: list[Any] = []  # an identity is given again when its object is gone

    def set(self, owner: Any, name: str, value: Any, *, restored: bool) -> None:
        key = id(owner), name
        self._owners.append(owner)
        self._values[key] = value
        (self._restored.add if restored else self._restored.discard)(key)

    def is_restored(self, owner: Any, name: str) -> bool:
        return (id(owner), name) in self._restored

    def get(self, owner: Any, name: str) -> Any:
        if (id(owner), name) in self._values:
            return self._values[id(owner), name]
        if name in getattr(type(owner), "_fields", ()) and isinstance(owner, tuple):
            return owner[type(owner)._fields.index(name)]  # type: ignore[attr-defined]
        own = getattr(owner, "__dict__", None)
        if isinstance(own, dict) and name in own:
            return own[name]
        return in_class(class_of(owner), name)


class Values:
    """The variables of one function; `called` says what a call returns that the function makes."""

    def __init__(
        self, names: dict[str, Any], attributes: Attributes, called: Callable[[ast.Call], Any]
    ) -> None:
        self.names = names
        self.restored: set[str] = set()  # variables that come from the state that was read
        self.attributes = attributes
        self._called = called

    def of(self, node: Any) -> Any:
        """The value of an expression, or UNKNOWN."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.names.get(node.id, UNKNOWN)
        if isinstance(node, ast.Attribute):
            owner = self.of(node.value)
            return UNKNOWN if owner is UNKNOWN else self.attributes.get(owner, node.attr)
        if isinstance(node, ast.Subscript):
            return _item(self.of(node.value), self._key(node))
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.of(one) for one in node.elts)
        if isinstance(node, ast.Dict):
            keys = [getattr(key, "value", None) for key in node.keys]
            return {key: self.of(value) for key, value in zip(keys, node.values) if isinstance(key, str)}
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Await):
            return self.of(node.value)
        if isinstance(node, ast.IfExp):
            taken = self.truth(node.test)
            return UNKNOWN if taken is None else self.of(node.body if taken else node.orelse)
        if isinstance(node, ast.BinOp):
            return self._computed(node)
        if isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
            known = self.truth(node)
            return UNKNOWN if known is None else known
        return UNKNOWN

    def number(self, node: Any) -> int | None:
        found = self.of(node)
        return None if found is UNKNOWN else loop_bounds.whole(found)

    def truth(self, node: Any) -> bool | None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.truth(node.operand)
            return None if inner is None else not inner
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(one) for one in node.values]
            decides = isinstance(node.op, ast.Or)
            return decides if decides in parts else None if None in parts else not decides
        if isinstance(node, ast.Compare):
            return self._compared(node)
        if isinstance(node, ast.UnaryOp):
            return None
        found = self.of(node)
        return bool(found) if type(found) in (*_PLAIN, *_CONTAINERS) else None

    def is_restored(self, node: Any, results: set[int]) -> bool:
        """Whether it comes from the state; `results`: calls, by identity, whose result does."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and one.id in self.restored:
                return True
            if isinstance(one, ast.Attribute) and self.attributes.is_restored(self.of(one.value), one.attr):
                return True
            if id(one) in results:
                return True
        return False

    def _compared(self, node: ast.Compare) -> bool | None:
        compare = _COMPARED.get(type(node.ops[0])) if len(node.ops) == 1 else None
        sides = [self.of(one) for one in (node.left, node.comparators[0])]
        numbers = [self._plain(one) for one in sides]
        if compare is None or UNKNOWN in numbers:
            return None
        try:
            return bool(compare(*numbers))
        except TypeError:
            return None

    def _plain(self, found: Any) -> Any:
        if type(found) in _PLAIN:
            return found
        number = loop_bounds.whole(found) if found is not UNKNOWN else None
        return UNKNOWN if number is None else number

    def _computed(self, node: ast.BinOp) -> Any:
        left, right = self.number(node.left), self.number(node.right)
        if left is None or right is None:
            return UNKNOWN
        found = loop_bounds.computed(node.op, left, right)
        return UNKNOWN if found is None else found

    def _of_call(self, call: ast.Call) -> Any:
        found = self._called(call)
        if found is not UNKNOWN or any(isinstance(one, ast.Starred) for one in call.args):
            return found
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name and self.names.get(name, getattr(builtins, name, None)) is getattr(builtins, name, UNKNOWN):
            return self._of_builtin(name, call.args)
        if not isinstance(call.func, ast.Attribute):
            return UNKNOWN
        owner = self.of(call.func.value)
        if owner is UNKNOWN:
            return UNKNOWN
        if type(owner) is dict and call.func.attr in ("get", "pop") and call.args:
            key = self.of(call.args[0])
            missing = self.of(call.args[1]) if len(call.args) > 1 else None
            return owner.get(key, missing) if type(key) in (str, int) else UNKNOWN
        if call.func.attr in ("item", "numpy", "tolist") and not call.args:
            return _scalar(owner)
        return UNKNOWN

    def _of_builtin(self, name: str, args: list[ast.expr]) -> Any:
        if name == "len" and len(args) == 1:
            counted = self.of(args[0])
            return len(counted) if type(counted) in (*_CONTAINERS, str, set, range) else UNKNOWN
        if name not in ("int", "max", "min") or (name == "int" and len(args) != 1) or not args:
            return UNKNOWN
        numbers = [self.number(one) for one in args]
        if len(numbers) == 1 and name != "int":
            return UNKNOWN
        known = [one for one in numbers if one is not None]
        return (max if name == "max" else min)(known) if len(known) == len(numbers) else UNKNOWN

    def _key(self, node: ast.Subscript) -> Any:
        """Before Python 3.9 an index has a node of its own."""
        inside: Any = node.slice
        inside = inside.value if type(inside).__name__ == "Index" else inside
        key = self.of(inside)
        return key if type(key) in (str, int) else UNKNOWN


def class_of(owner: Any) -> type:
    return owner.kind if isinstance(owner, Made) else type(owner)


def in_class(kind: type, name: str) -> Any:
    for one in kind.__mro__:
        if name in vars(one):
            return vars(one)[name]
    return UNKNOWN


def _item(owner: Any, key: Any) -> Any:
    if type(owner) is dict and key is not UNKNOWN:
        return owner.get(key, UNKNOWN)
    if type(owner) in (list, tuple) and type(key) is int and -len(owner) <= key < len(owner):
        return owner[key]
    if type(owner).__name__ == "NpzFile" and type(key) is str:
        return _member(owner, key)
    return UNKNOWN


def _member(stored: Any, key: str) -> Any:
    """Of an npz file: only a small array is read, and none of objects."""
    try:
        if stored.zip.getinfo(key + ".npy").file_size > _LARGEST_MEMBER:
            return UNKNOWN
        with stored.zip.open(key + ".npy") as opened:
            return sys.modules["numpy"].lib.format.read_array(opened, allow_pickle=False)
    except (KeyError, ValueError, AttributeError, OSError):  # not there, of objects, or closed
        return UNKNOWN


def _scalar(owner: Any) -> Any:
    """A whole number, or the one object in an array of NumPy's."""
    array = type(owner).__module__ == "numpy" and getattr(owner, "shape", None) == ()
    if array and str(getattr(owner, "dtype", "")) == "object":
        return owner.item()
    number = loop_bounds.whole(owner)
    return UNKNOWN if number is None else number
