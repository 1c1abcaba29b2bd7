"""The text form of protocol buffers, read into a tree that knows the line of every field.

No message definitions: what a field may be is decided by whoever reads the tree. Standard library alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.errors import HoldfastError

LARGEST_BYTES = 4 << 20
DEEPEST = 60  # messages inside messages

_TOKEN = re.compile(
    r"""(?P<space>[\s]+|\#[^\n]*)|(?P<word>[A-Za-z_][\w.]*)|(?P<punctuation>[{}<>:,;\[\]/])
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<number>[-+]?\s*(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?)|-\s*(?:inf|nan)[a-z]*)""",
    re.VERBOSE,
)
_CLOSES = {"{": "}", "<": ">"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)


class NotAPipelineConfig(HoldfastError):
    """The file is no protocol buffer in text form, or not one of the Object Detection API."""

    slug = "not-a-pipeline-config"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value as it is written. `quoted` distinguishes a string from a name or a number."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of one message, in the order of the file; a repeated field occurs several times."""

    fields: list[TextField] = field(default_factory=list)

    def all(self, name: str) -> list[TextField]:
        return [one for one in self.fields if one.name == name]


@dataclass(frozen=True, slots=True)
class TextField:
    """One field, its value and the line where its name is."""

    name: str
    value: Scalar | Message
    line: int


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


def parse(text: str, where: Path | str) -> Message:
    """The whole file as one message."""
    tokens = _Tokens(list(_tokens(text, where)), where)
    return _message(tokens, "", 0)


class _Tokens:
    """The tokens in order, and where the reading is."""

    def __init__(self, tokens: list[_Token], where: Path | str) -> None:
        self.tokens, self.where, self.place = tokens, where, 0

    @property
    def now(self) -> _Token:
        return self.tokens[self.place]

    def take(self) -> _Token:
        token = self.tokens[self.place]
        self.place = min(self.place + 1, len(self.tokens) - 1)
        return token

    def take_if(self, *texts: str) -> bool:
        if self.now.kind == "punctuation" and self.now.text in texts:
            self.take()
            return True
        return False

    def wrong(self, expected: str) -> NotAPipelineConfig:
        found = "the end of the file" if self.now.kind == "end" else repr(self.now.text[:60])
        return NotAPipelineConfig(
            "the file is not valid text of a protocol buffer",
            where=f"{self.where}:{self.now.line}",
            found=f"{found}, where {expected} is expected",
            change="correct this line",
        )


def _tokens(text: str, where: Path | str) -> Iterator[_Token]:
    place, line = 0, 1
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise NotAPipelineConfig(
                "the file is not valid text of a protocol buffer",
                where=f"{where}:{line}",
                found=repr(text[place : place + 40].split("\n")[0]),
                change="correct this line: strings need quotes, messages need braces",
            )
        if match.lastgroup != "space":
            yield _Token(str(match.lastgroup), match.group(), line)
        line += match.group().count("\n")
        place = match.end()
    yield _Token("end", "", line)


def _message(tokens: _Tokens, end: str, depth: int) -> Message:
    if depth > DEEPEST:
        raise NotAPipelineConfig(
            f"messages lie in each other more than {DEEPEST} deep",
            where=f"{tokens.where}:{tokens.now.line}",
            change="give a pipeline.config; its messages are about ten deep",
        )
    message = Message()
    while True:
        if end and tokens.take_if(end):
            return message
        if tokens.now.kind == "end" and not end:
            return message
        _field(tokens, message, depth)


def _field(tokens: _Tokens, message: Message, depth: int) -> None:
    line = tokens.now.line
    name = _name(tokens)
    colon = tokens.take_if(":")
    if tokens.take_if("["):
        while not tokens.take_if("]"):
            message.fields.append(TextField(name, _value(tokens, depth), line))
            if not tokens.take_if(",") and tokens.now.text != "]":
                raise tokens.wrong("a comma or ]")
    elif not colon and tokens.now.text not in _CLOSES:
        raise tokens.wrong(f"a colon or a brace after {name}")
    else:
        message.fields.append(TextField(name, _value(tokens, depth), line))
    tokens.take_if(",", ";")


def _name(tokens: _Tokens) -> str:
    if tokens.take_if("["):  # an extension, or Any
        parts = []
        while not tokens.take_if("]"):
            if tokens.now.kind not in ("word", "punctuation"):
                raise tokens.wrong("the name of an extension")
            parts.append(tokens.take().text)
        return f"[{''.join(parts)}]"
    if tokens.now.kind != "word":
        raise tokens.wrong("the name of a field")
    return tokens.take().text


def _value(tokens: _Tokens, depth: int) -> Scalar | Message:
    if tokens.now.kind == "punctuation" and tokens.now.text in _CLOSES:
        return _message(tokens, _CLOSES[tokens.take().text], depth + 1)
    if tokens.now.kind == "string":
        parts = []
        while tokens.now.kind == "string":  # neighbours are one string
            parts.append(_ESCAPE.sub(_unescaped, tokens.take().text[1:-1]))
        return Scalar("".join(parts), quoted=True)
    if tokens.now.kind in ("word", "number"):
        return Scalar(re.sub(r"\s", "", tokens.take().text), quoted=False)
    raise tokens.wrong("a value")


def _unescaped(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0].isdigit():
        return chr(int(code, 8) & 255)
    return _ESCAPES.get(code, code)
