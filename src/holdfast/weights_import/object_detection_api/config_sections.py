"""A pipeline.config, read field by field: what no code asks for is reported, with its line.

A field is carried over when it was read by `number`, `flag`, `word`, `text` or `numbers`; `ignored` marks fields that
change nothing here, `dropped` those that would.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.errors import nearest
from holdfast.weights_import.object_detection_api.config_fields import (
    KNOWN,
    MESSAGES,
    WITHOUT_EFFECT,
    reason_of,
)
from holdfast.weights_import.object_detection_api.text_format import (
    Message,
    NotAPipelineConfig,
    Scalar,
    TextField,
)

_TRUE, _FALSE = ("true", "True", "t", "1"), ("false", "False", "f", "0")


@dataclass(frozen=True, slots=True)
class ConfigLine:
    """A field that is not in the recipe or the model as it is in the configuration."""

    line: int
    name: str  # with the messages that it is in
    value: str
    reason: str
    matters: bool  # the training or the detections differ for it

    def as_json(self) -> dict[str, object]:
        return {"line": self.line, "field": self.name, "value": self.value, "reason": self.reason}


@dataclass
class Ledger:
    """Which fields were read, and what was said of the others."""

    where: Path | str
    read: set[int] = field(default_factory=set)
    lines: list[ConfigLine] = field(default_factory=list)

    def finish(self, message: Message, path: str = "") -> None:
        """Everything that nobody asked for."""
        for one in message.fields:
            if id(one) in self.read:
                continue
            name = f"{path}.{one.name}" if path else one.name
            if isinstance(one.value, Message) and one.value.fields and one.name in MESSAGES:
                self.finish(one.value, name)
            else:
                self.add(one, name, *_judged(one.name, name))
        if not path:
            self.lines.sort(key=lambda line: line.line)

    def add(self, one: TextField, name: str, reason: str, matters: bool) -> None:
        self.read.add(id(one))
        value = one.value.text if isinstance(one.value, Scalar) else "{ … }" if one.value.fields else "{}"
        self.lines.append(ConfigLine(one.line, name, value, reason, matters))


def _judged(name: str, path: str) -> tuple[str, bool]:
    if any(path.endswith(ending) for ending in WITHOUT_EFFECT):
        return reason_of(path, WITHOUT_EFFECT), False
    if name not in KNOWN:
        close = nearest(name, KNOWN)
        hint = f"; did you mean {close}?" if close else ""
        return f"no field of the Object Detection API that Holdfast knows has this name{hint}", True
    return reason_of(path, KNOWN), True


def _as_single(value: float) -> float:
    found: float = struct.unpack("f", struct.pack("f", value))[0]
    return found


class Section:
    """One message, and where it is."""

    def __init__(self, message: Message, path: str, ledger: Ledger) -> None:
        self.message, self.path, self.ledger = message, path, ledger

    def section(self, name: str) -> Section:
        """A message inside; an empty one where there is none. The last one counts, as in protocol buffers' text."""
        inner = Message()
        for one in self.message.all(name):
            if isinstance(one.value, Message):
                inner = one.value
                if not inner.fields:
                    self.ledger.read.add(id(one))
        return Section(inner, self._name(name), self.ledger)

    def sections(self, name: str) -> list[Section]:
        """A repeated message."""
        return [
            Section(one.value, self._name(name), self.ledger)
            for one in self.message.all(name)
            if isinstance(one.value, Message)
        ]

    def has(self, name: str) -> bool:
        return bool(self.message.all(name))

    def line_of(self, name: str) -> int:
        found = self.message.all(name)
        return found[0].line if found else 0

    def number(self, name: str, default: float) -> float:
        one = self._scalar(name)
        return default if one is None else self._as_number(one)

    def single(self, name: str, default: float) -> float:
        """A number as protocol buffers keep it, in 32 bits: anchors must not differ in their last bit."""
        return _as_single(self.number(name, default))

    def singles(self, name: str) -> tuple[float, ...]:
        return tuple(_as_single(value) for value in self.numbers(name))

    def whole(self, name: str, default: int) -> int:
        value = self.number(name, default)
        if value != int(value):
            raise self.wrong(name, "a whole number")
        return int(value)

    def numbers(self, name: str) -> tuple[float, ...]:
        found = self.message.all(name)
        self.ledger.read.update(id(one) for one in found)
        return tuple(self._as_number(one) for one in found)

    def flag(self, name: str, default: bool) -> bool:
        one = self._scalar(name)
        if one is None:
            return default
        text = one.value.text if isinstance(one.value, Scalar) else ""
        if text not in (*_TRUE, *_FALSE):
            raise self.wrong(name, "true or false")
        return text in _TRUE

    def text(self, name: str, default: str = "") -> str:
        one = self._scalar(name)
        return default if one is None or not isinstance(one.value, Scalar) else one.value.text

    def texts(self, name: str) -> list[str]:
        found = self.message.all(name)
        self.ledger.read.update(id(one) for one in found)
        return [one.value.text for one in found if isinstance(one.value, Scalar)]

    def dropped(self, name: str, reason: str, *, matters: bool = True) -> None:
        """These fields are not carried over, and why."""
        for one in self.message.all(name):
            self.ledger.add(one, self._name(name), reason, matters)

    def ignored(self, name: str, reason: str) -> None:
        """These fields change nothing here."""
        self.dropped(name, reason, matters=False)

    def wrong(self, name: str, expected: str) -> NotAPipelineConfig:
        one = self.message.all(name)[-1]
        found = one.value.text if isinstance(one.value, Scalar) else "a message"
        return NotAPipelineConfig(
            f"{self._name(name)} is not {expected}",
            where=f"{self.ledger.where}:{one.line}",
            found=f"{name}: {found}",
            change=f"give {expected}",
        )

    def leaves(self) -> Iterator[TextField]:
        yield from self.message.fields

    def _scalar(self, name: str) -> TextField | None:
        found = self.message.all(name)
        self.ledger.read.update(id(one) for one in found)
        if not found:
            return None
        if not isinstance(found[-1].value, Scalar):
            raise self.wrong(name, "a value")
        return found[-1]

    def _as_number(self, one: TextField) -> float:
        text = one.value.text if isinstance(one.value, Scalar) and not one.value.quoted else "a text"
        try:
            value = float(int(text, 16)) if text.lower().startswith("0x") else float(text.rstrip("fF") or "x")
        except ValueError:
            raise self.wrong(one.name, "a number") from None
        if not math.isfinite(value):
            raise self.wrong(one.name, "a finite number")
        return value

    def _name(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name
