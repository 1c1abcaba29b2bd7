"""What the coordinator of a group and its agents send each other, and the one check of what comes in.

A message is a JSON object on a line of its own. `parse` turns the bytes of a line into one of the classes below, or
into None: types, ranges and sizes are those of the fields, and whoever uses a message need not look again. `encode`
checks by the same fields, so what one side sends the other side takes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from typing import Any

HELLO_BYTES = 1 << 16  # of a line before the token is known to be right
LINE_BYTES = 1 << 20
VERSION = 1  # of these messages
MOST_PROCESSES = 1 << 20
_COUNT = 1 << 53  # the whole numbers that are exact as floats too
_VERDICT = ("summary", "cause", "title", "strength")

Check = Callable[[Any], Any]  # the value as it may be used; ValueError where it does not fit


def integer(least: int, most: int, default: Any = MISSING, *, or_none: bool = False) -> Any:
    def check(value: Any) -> int | None:
        if value is None and or_none:
            return None
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"no whole number from {least} to {most}")
        return value

    return field(default=default, metadata={"check": check})


def seconds(default: Any = MISSING) -> Any:
    def check(value: Any) -> float:
        if type(value) not in (int, float) or not 0 <= value <= 1e10 or not math.isfinite(value):
            raise ValueError("no number of seconds")
        return float(value)

    return field(default=default, metadata={"check": check})


def flag() -> Any:
    def check(value: Any) -> bool:
        if type(value) is not bool:
            raise ValueError("neither true nor false")
        return value

    return field(metadata={"check": check})


def shown(value: Any, longest: int) -> str:
    """Text for a terminal: cut, and without escape sequences or lone surrogates."""
    if not isinstance(value, str):
        raise ValueError("no text")
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in value[:longest])


def text(longest: int, default: Any = MISSING, *, or_none: bool = False) -> Any:
    def check(value: Any) -> str | None:
        return None if value is None and or_none else shown(value, longest)

    return field(default=default, metadata={"check": check})


def secret(longest: int) -> Any:
    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > longest:
            raise ValueError("no token")
        return value

    return field(metadata={"check": check}, repr=False)


def texts(most: int, longest: int) -> Any:
    def check(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError("no list")
        return tuple(shown(one, longest) for one in value[:most])

    return field(default=(), metadata={"check": check})


def address() -> Any:
    def check(value: Any) -> str:
        host, _, port = shown(value, 300).rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError("no host and port")
        return f"{host}:{port}"

    return field(metadata={"check": check})


def verdict() -> Any:
    """Of one process, in the words of its own explanation: what is known of it, and at most 20 facts."""

    def fact(value: Any) -> dict[str, str]:
        if not isinstance(value, dict):
            raise ValueError("no fact")
        return {name: shown(value[name], 1000) for name in ("fact", "source") if name in value}

    def check(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or not isinstance(value.get("because", []), list):
            raise ValueError("no verdict")
        kept: dict[str, Any] = {name: shown(value[name], 2000) for name in _VERDICT if name in value}
        if "because" in value:
            kept["because"] = [fact(one) for one in value["because"][:20]]
        return kept

    return field(default_factory=dict, metadata={"check": check})


# -- from an agent -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """`version` is the one field that a later version may not change: it says which messages the other side speaks."""

    rank: int = integer(0, MOST_PROCESSES)
    token: str = secret(4096)
    host: str = text(255)
    pid: int = integer(0, 1 << 32, 0)
    version: int = integer(0, 1 << 32, 1)


@dataclass(frozen=True, slots=True)
class Pong:
    at: float = seconds()  # of the ping that is answered


@dataclass(frozen=True, slots=True)
class Status:
    running: bool = flag()
    attempt: int = integer(0, 1 << 32)
    pid: int = integer(0, 1 << 32, 0)
    step: int | None = integer(0, _COUNT, None, or_none=True)  # None: no heartbeat of this attempt yet
    phase: str = text(64, "")
    sequence: int = integer(0, 1 << 64, 0)
    state: str = text(8, "")
    data_s: float = seconds(0.0)
    pace: int = integer(0, 1 << 32, 0)
    steps: int | None = integer(0, _COUNT, None, or_none=True)  # None: no pace of this process yet
    own_s: float = seconds(0.0)
    together_s: float = seconds(0.0)


@dataclass(frozen=True, slots=True)
class Stacks:
    file: str = text(1000)
    main: tuple[str, ...] = texts(20, 500)


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    attempt: int = integer(0, 1 << 32)
    exit_code: int | None = integer(-(1 << 31), 1 << 31, None, or_none=True)
    signal: str | None = text(32, None, or_none=True)
    shell_code: int = integer(0, 255, 137)
    step: int | None = integer(0, _COUNT, None, or_none=True)
    verdict: Mapping[str, Any] = verdict()


# -- from the coordinator ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ping:
    at: float = seconds()


@dataclass(frozen=True, slots=True)
class Start:
    attempt: int = integer(0, 1 << 32)
    count: int = integer(1, MOST_PROCESSES)
    coordinator: str = address()
    resume: bool = flag()


@dataclass(frozen=True, slots=True)
class Stop:
    signal: str = text(32)


@dataclass(frozen=True, slots=True)
class Kill:
    why: str = text(300)


@dataclass(frozen=True, slots=True)
class TakeStacks:
    pass


@dataclass(frozen=True, slots=True)
class JoinRefused:
    """In answer to a hello: this process will not be of the group."""

    why: str = text(300)


@dataclass(frozen=True, slots=True)
class Leave:
    exit_code: int = integer(0, 255, 0)


Message = (
    Hello | Pong | Status | Stacks | ProcessEnded | Ping | Start | Stop | Kill | TakeStacks | JoinRefused | Leave
)  # fmt: skip
Kinds = Mapping[str, type[Any]]
BEFORE_TOKEN: Kinds = {"hello": Hello}
FROM_AGENT: Kinds = {"pong": Pong, "status": Status, "stacks": Stacks, "ended": ProcessEnded}
FROM_COORDINATOR: Kinds = {
    "ping": Ping, "start": Start, "stop": Stop, "kill": Kill, "take_stacks": TakeStacks, "refused": JoinRefused,
    "leave": Leave,
}  # fmt: skip
_NAMES = {
    kind: name for kinds in (BEFORE_TOKEN, FROM_AGENT, FROM_COORDINATOR) for name, kind in kinds.items()
}


def parse(line: bytes, kinds: Kinds) -> Message | None:
    """The message on this line when it is one of `kinds` and every field fits; None for anything else."""
    if len(line) > LINE_BYTES:
        return None
    try:
        found = json.loads(line.decode("utf-8"))
        if not isinstance(found, dict) or not isinstance(found.get("kind"), str):
            return None
        kind = kinds.get(found["kind"])
        if kind is None:
            return None
        message: Message = kind(**{one.name: _checked(one, found) for one in fields(kind)})
        return message
    except (ValueError, RecursionError):  # a line of many thousand brackets is the latter
        return None


def encode(message: Message) -> bytes:
    """One line. Long text is cut here, as it would be there; ValueError where a number is out of its range."""
    given = asdict(message)
    checked = {one.name: _checked(one, given) for one in fields(message)}
    return json.dumps({"kind": _NAMES[type(message)], **checked}).encode() + b"\n"


def _checked(one: Field[Any], values: Mapping[str, Any]) -> Any:
    if one.name in values:
        return one.metadata["check"](values[one.name])
    if one.default is not MISSING:
        return one.default
    if one.default_factory is not MISSING:
        return one.default_factory()
    raise ValueError(f"{one.name} is missing")
