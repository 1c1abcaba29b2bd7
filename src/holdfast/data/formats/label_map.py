"""Label maps of the TF Object Detection API: `item { id: 1 name: 'cat' display_name: "Cat" }`.

Read as the text form of protocol buffers in general, so tabs, commas, comments, `item: {`, `item <`,
keypoints and fields that nobody knows are all fine.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from holdfast.data.dataset_reader import Problem
from holdfast.errors import UnreadableAnnotation

_TOKEN = re.compile(
    r"""(?P<space>[\s,;]+|\#[^\n]*)|(?P<word>[A-Za-z_][\w.]*)|(?P<open>[{<])|(?P<close>[}>])|(?P<colon>:)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<number>[-+]?[\d.][\w.+-]*)|(?P<list>[\[\]])""",
    re.VERBOSE,
)
LARGEST_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Label:
    id: int
    name: str  # what `class/text` holds: may be a machine id such as /m/01g317
    display_name: str = ""


def read(data: bytes, where: str) -> tuple[Label, ...]:
    """The labels in the order of the file. An id that occurs twice is refused: one of them is wrong."""
    if len(data) > LARGEST_BYTES:
        raise UnreadableAnnotation("the label map is larger than 32 MiB", where=where)
    labels = [_label(fields, where) for fields in _items(data.decode("utf-8", "replace"), where)]
    if not labels:
        raise UnreadableAnnotation("the label map has no item", where=where)
    seen: dict[int, Label] = {}
    for label in labels:
        if label.id in seen:
            raise UnreadableAnnotation(
                f"the label map gives id {label.id} to {seen[label.id].name!r} and to {label.name!r}",
                where=where,
            )
        seen[label.id] = label
    return tuple(labels)


def _items(text: str, where: str) -> list[dict[str, str]]:
    items: list[dict[str, str]] = []
    depth, key, position = 0, "", 0
    in_item: list[bool] = []
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            line = text.count("\n", 0, position) + 1
            raise UnreadableAnnotation(
                f"the label map cannot be read at line {line}: {text[position : position + 20]!r}",
                where=where,
            )
        position = match.end()
        kind, token = match.lastgroup, match.group()
        if kind == "open":
            in_item.append(depth == 0 and key == "item")
            if in_item[-1]:
                items.append({})
            depth, key = depth + 1, ""
        elif kind == "close":
            if depth == 0:
                raise UnreadableAnnotation(
                    "the label map closes a bracket that was never opened", where=where
                )
            depth, key = depth - 1, ""
            in_item.pop()
        elif kind in ("word", "string", "number"):
            if key and key != "item":
                if depth == 1 and in_item[0]:
                    items[-1].setdefault(key, token)
                key = ""
            elif kind == "word":
                key = token
    if depth:
        raise UnreadableAnnotation("the label map ends inside an item", where=where)
    return items


def _label(fields: dict[str, str], where: str) -> Label:
    name, display = _string(fields.get("name", "")), _string(fields.get("display_name", ""))
    text = fields.get("id", "")
    if not re.fullmatch(r"[-+]?\d{1,18}", text):
        raise UnreadableAnnotation(
            f"the item {name or display!r} of the label map has no whole number as id", where=where
        )
    return Label(int(text), name or display or text, display)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")


def _string(token: str) -> str:
    if token[:1] not in ("'", '"'):
        return token

    def plain(match: re.Match[bytes]) -> bytes:
        code = match.group(1)
        if code[:1] == b"x" and len(code) > 1:
            return bytes([int(code[1:], 16)])
        if code[:1].isdigit():
            return bytes([int(code, 8) & 255])
        return _ESCAPES.get(code.decode("latin-1"), code.decode("latin-1")).encode("latin-1")

    return _ESCAPE.sub(plain, token[1:-1].encode()).decode("utf-8", "replace")


def render(labels: list[Label]) -> str:
    """The text that `read` and TensorFlow's own parser read back."""
    return "".join(
        f"item {{\n  id: {label.id}\n  name: {_quoted(label.name)}\n"
        + (f"  display_name: {_quoted(label.display_name)}\n" if label.display_name else "")
        + "}\n"
        for label in labels
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def shift_of_numbers(known: Collection[int], used: Collection[int]) -> int:
    """Numbers that count from 0 where the names count from 1, or the other way round.

    1 where every number is one above its own, -1 where it is one below; 0 where nothing proves it.

    The proof: one number is past the names at one end, no other is unknown, and the name at the other end has nothing.
    """
    strange = set(used) - set(known)
    if not known or len(strange) != 1:
        return 0
    first, last = min(known), max(known)
    if strange == {last + 1} and first not in used:
        return 1
    return -1 if strange == {first - 1} and last not in used else 0


def disagreeing_lists(lists: Sequence[tuple[str, Mapping[int, str]]]) -> Iterator[Problem]:
    """Files of one dataset that give a class another number than the first file does.

    Each file is right by itself, and read so; a program that goes by the number takes one class for another.
    """
    known = [(file, listed) for file, listed in lists if listed]
    first_file, first = known[0] if known else ("", {})
    numbers = {name: number for number, name in first.items()}
    for file, listed in known[1:]:
        moved = [name for _, name in sorted(listed.items()) if name in numbers]
        moved = [name for name in moved if listed.get(numbers[name]) != name]
        if moved:
            shown = ", ".join(
                f"{numbers[name]} is {_class_of(listed, numbers[name])} here and {name!r} there"
                for name in moved[:3]
            )
            said = f"{len(moved)} classes have other numbers than in {first_file}: {shown}; boxes are read by name"
            yield Problem("class-lists-disagree", file, said)


def _class_of(listed: Mapping[int, str], number: int) -> str:
    return repr(listed[number]) if number in listed else "no class"
