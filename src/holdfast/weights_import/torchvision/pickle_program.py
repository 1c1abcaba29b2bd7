"""A state dict's pickle, followed opcode by opcode: it can build numbers, text, tuples, dictionaries and tensors.

`pickle` is not used. A pickle names callables and asks for them to be called; here a name is a pair of strings, and
the only names that mean something are those of a tensor, of a storage and of an ordered dictionary. Nothing that the
file names is imported, looked up or called.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

from holdfast.errors import HoldfastError

MOST_OPCODES = 2_000_000  # of a detector's file: some 30,000
MOST_DIMENSIONS = 8

#: torch's storages -> numpy's names. Half-floats of eight exponent bits have no type in numpy.
STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool",
}  # fmt: skip


class WeightsUnreadable(HoldfastError):
    """A file of weights is damaged, or holds something that is not a tensor."""

    slug = "weights-unreadable"


class NotTensors(Exception):
    """The pickle asks for something else than tensors; the text says for what."""


class Storage(NamedTuple):
    """A run of numbers in the file."""

    dtype: str
    key: str
    length: int


class TensorPlace(NamedTuple):
    """Where a tensor's numbers are: in which storage, from which number on, by which strides."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Name(NamedTuple):
    module: str
    name: str


class _Mark:
    pass


_ORDERED_DICT = _Name("collections", "OrderedDict")
_TENSORS = (_Name("torch._utils", "_rebuild_tensor_v2"), _Name("torch._utils", "_rebuild_tensor"))
_PARAMETER = _Name("torch._utils", "_rebuild_parameter")


def follow(file: BinaryIO) -> Any:
    """What the next pickle in the file describes; the file is left behind its last byte."""
    machine = _Machine()
    for count, (opcode, argument, _) in enumerate(pickletools.genops(file)):
        if count > MOST_OPCODES:
            raise NotTensors(f"more than {MOST_OPCODES} instructions")
        if opcode.name == "STOP":
            return machine.pop()
        machine.step(opcode.name, argument)
    raise NotTensors("no end")


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        if not self.stack or isinstance(self.stack[-1], _Mark):
            raise NotTensors("a broken order of instructions")
        return self.stack.pop()

    def step(self, name: str, argument: Any) -> None:
        if name in _IGNORED:
            return
        if name in _LITERALS:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _ACTIONS:
            _ACTIONS[name](self, argument)
        else:
            raise NotTensors(f"the instruction {name}")

    def since_mark(self) -> list[Any]:
        for place in range(len(self.stack) - 1, -1, -1):
            if isinstance(self.stack[place], _Mark):
                items = self.stack[place + 1 :]
                del self.stack[place:]
                return items
        raise NotTensors("a broken order of instructions")

    def top(self, kind: type) -> Any:
        found = self.stack[-1] if self.stack else None
        if not isinstance(found, kind):
            raise NotTensors("a broken order of instructions")
        return found


def _tuple(count: int) -> Callable[[_Machine, Any], None]:
    def run(machine: _Machine, _: Any) -> None:
        items = [machine.pop() for _ in range(count)]
        machine.stack.append(tuple(reversed(items)))

    return run


def _set_items(machine: _Machine, items: list[Any]) -> None:
    target = machine.top(dict)
    for key, value in zip(items[::2], items[1::2], strict=False):
        if not isinstance(key, str | int):
            raise NotTensors("a dictionary whose keys are not text")
        target[key] = value


def _set_one(machine: _Machine, _: Any) -> None:
    value, key = machine.pop(), machine.pop()
    _set_items(machine, [key, value])


def _append(machine: _Machine, items: list[Any]) -> None:
    machine.top(list).extend(items)


def _append_one(machine: _Machine, _: Any) -> None:
    item = machine.pop()
    _append(machine, [item])


def _put(machine: _Machine, place: Any) -> None:
    value = machine.pop()
    machine.memo[len(machine.memo) if place is None else place] = value
    machine.stack.append(value)


def _get(machine: _Machine, place: Any) -> None:
    if place not in machine.memo:
        raise NotTensors("a broken order of instructions")
    machine.stack.append(machine.memo[place])


def _name(machine: _Machine, argument: Any) -> None:
    module, _, name = argument.partition(" ")
    machine.stack.append(_known(_Name(module, name)))


def _name_of_stack(machine: _Machine, _: Any) -> None:
    name, module = machine.pop(), machine.pop()
    if not (isinstance(name, str) and isinstance(module, str)):
        raise NotTensors("a broken order of instructions")
    machine.stack.append(_known(_Name(module, name)))


def _known(name: _Name) -> _Name:
    is_storage = name.module in ("torch", "torch.storage") and name.name in STORAGES
    if name in (_ORDERED_DICT, _PARAMETER, *_TENSORS) or is_storage:
        return name
    raise NotTensors(f"{name.module}.{name.name}"[:120])


def _reduce(machine: _Machine, _: Any) -> None:
    arguments, name = machine.pop(), machine.pop()
    if not isinstance(arguments, tuple):
        raise NotTensors("a broken order of instructions")
    if name == _ORDERED_DICT and not arguments:
        machine.stack.append({})
    elif name in _TENSORS:
        machine.stack.append(_tensor(*arguments[:4]) if len(arguments) >= 4 else _refuse_tensor())
    elif name == _PARAMETER and arguments and isinstance(arguments[0], TensorPlace):
        machine.stack.append(arguments[0])
    else:
        raise NotTensors("a call of something that makes no tensor")


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any) -> TensorPlace:
    right = isinstance(storage, Storage) and _is_count(offset) and _are_counts(shape) and _are_counts(strides)
    if not right or len(shape) != len(strides) or len(shape) > MOST_DIMENSIONS:
        _refuse_tensor()
    return TensorPlace(storage, offset, tuple(shape), tuple(strides))


def _refuse_tensor() -> Any:
    raise NotTensors("a tensor whose place and shape are not numbers")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40


def _are_counts(values: Any) -> bool:
    return isinstance(values, tuple) and all(_is_count(value) for value in values)


def _storage(machine: _Machine, _: Any) -> None:
    """('storage', its type, its key, the device, how many numbers), as torch writes it."""
    found = machine.pop()
    if not isinstance(found, tuple) or len(found) < 5 or found[0] != "storage":
        raise NotTensors("a reference to something that is no storage")
    kind, key, length = found[1], found[2], found[4]
    if not (isinstance(kind, _Name) and kind.name in STORAGES and isinstance(key, str) and _is_count(length)):
        raise NotTensors("a reference to something that is no storage")
    if len(found) > 5 and found[5] is not None:
        raise NotTensors("a storage that is a part of another")
    machine.stack.append(Storage(STORAGES[kind.name], key, length))


def _build(machine: _Machine, _: Any) -> None:
    """An attribute of an ordered dictionary: torch's versions of its modules. Nothing needs it."""
    machine.pop()
    machine.top(dict)


_IGNORED = ("PROTO", "FRAME")
_LITERALS = (
    "BINUNICODE", "SHORT_BINUNICODE", "UNICODE", "BINSTRING", "SHORT_BINSTRING", "BININT", "BININT1", "BININT2",
    "INT", "LONG", "LONG1", "BINFLOAT", "FLOAT",
)  # fmt: skip
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "MARK": _Mark,
    "EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple,
}  # fmt: skip
_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.since_mark())),
    "TUPLE1": _tuple(1), "TUPLE2": _tuple(2), "TUPLE3": _tuple(3),
    "SETITEMS": lambda machine, _: _set_items(machine, machine.since_mark()), "SETITEM": _set_one,
    "APPENDS": lambda machine, _: _append(machine, machine.since_mark()), "APPEND": _append_one,
    "BINPUT": _put, "LONG_BINPUT": _put, "PUT": _put, "MEMOIZE": _put,
    "BINGET": _get, "LONG_BINGET": _get, "GET": _get,
    "GLOBAL": _name, "STACK_GLOBAL": _name_of_stack, "REDUCE": _reduce, "BUILD": _build, "BINPERSID": _storage,
}  # fmt: skip
