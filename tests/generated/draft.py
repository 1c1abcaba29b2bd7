"""A program before it has a style: pieces of code with slots, constants and placeholder names.

Placeholders in the code of a draft:

- ``v_x``, ``f_data``, ``c_Net``: a variable, a function, a class. The style gives each a name.
- ``K_LR``: a constant. The style puts it into a global, a dict, a dataclass or an argument parser.
- ``<<slot>>``: text that a fault may replace. A line that is only an empty slot disappears.
- ``SAY("text {:.3f}", value)``: a line of output. The style prints or logs it.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

from tests.zoo.trials import World

_SLOT = re.compile(r"<<(\w+)>>")
_LINE_OF_SLOT = re.compile(r"^([ ]*)<<(\w+)>>$", re.MULTILINE)


def code(text: str) -> str:
    """A block as it is written in a template, without its common indentation."""
    return textwrap.dedent(text).strip("\n")


@dataclass
class Piece:
    """A stretch of the program: inline, a function or a method, as the style has it."""

    name: str
    args: list[str]
    body: str
    returns: list[str]


@dataclass
class Send:
    """A signal from outside, so many seconds after the first output of the training."""

    signal: str
    after_s: float = 4.0


@dataclass
class Draft:
    base: str
    features: set[str]
    about: str  # what a docstring would say
    imports: list[str] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    slots: dict[str, str] = field(default_factory=dict)
    layers: list[str] = field(default_factory=list)  # of a Keras or torch model that is a chain
    input_shape: str = ""
    defs: list[str] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    prepare: str = ""  # a script that makes files; it runs before the program, and is removed
    world: World = field(default_factory=World)
    send: Send | None = None
    around: str = ""  # something else that the runner does: "fifo:NAME", "small:NAME"
    names: dict[str, str] = field(default_factory=dict)  # names that are not left to the style

    def piece(self, name: str) -> Piece:
        return next(piece for piece in self.pieces if piece.name == name)

    def put(self, **slots: str) -> None:
        """Fill slots that the base has: a slot that nobody reads would be a fault that does nothing."""
        for name, text in slots.items():
            if not self._has(name):
                raise KeyError(f"{self.base} has no slot {name}")
            self.slots[name] = text

    def add(self, slot: str, text: str) -> None:
        """Append lines to a slot."""
        before = self.slots.get(slot, "")
        self.put(**{slot: f"{before}\n{text}".strip("\n")})

    def replace(self, old: str, new: str) -> None:
        """Replace text wherever it occurs; an error if it does not occur."""
        found = 0
        for piece in self.pieces:
            found += piece.body.count(old)
            piece.body = piece.body.replace(old, new)
        for texts in (self.defs, self.layers):
            for index, text in enumerate(texts):
                found += text.count(old)
                texts[index] = text.replace(old, new)
        for name, text in self.slots.items():
            found += text.count(old)
            self.slots[name] = text.replace(old, new)
        if not found:
            raise KeyError(f"{self.base} has no {old!r}")

    def _has(self, name: str) -> bool:
        mark = f"<<{name}>>"
        texts = [piece.body for piece in self.pieces] + self.defs + self.layers + [*self.slots.values()]
        return name in self.slots or any(mark in text for text in texts)

    def fill(self, text: str) -> str:
        """The text with its slots filled; unknown slots are empty."""
        for _ in range(6):
            if "<<" not in text:
                break
            text = _LINE_OF_SLOT.sub(lambda m: textwrap.indent(self.slots.get(m[2], ""), m[1]) or "\0", text)
            text = re.sub(r"^[ ]*\0\n?", "", text, flags=re.MULTILINE)
            text = _SLOT.sub(lambda m: self.slots.get(m[1], ""), text)
        return text
