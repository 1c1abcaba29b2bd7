"""Changes of bytes and of JSON values that nobody expects. Each takes a seeded generator."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Mutation = Callable[[random.Random, bytes], bytes]

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 2**64 + 1, 10**400, 1e308, -0.0, float("nan"), float("inf"), "", "nan", "x" * 5000,
    "\x1b]0;t\x07\x1b[2J", "\udcff", "../../etc/passwd", [], {}, [[]], {"a": {"b": []}}, ["x"] * 50, "0", "\0",
    "\ud800",
)  # fmt: skip


def flip(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 32))):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(max(1, len(data)))]


def stuff(rng: random.Random, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.randbytes(rng.choice((1, 16, 4000))) + data[place:]


def repeat(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data) + 1)
    stop = min(len(data), start + rng.choice((1, 50, 1000)))
    return data[:stop] + data[start:stop] * rng.choice((1, 20, 300)) + data[stop:]


def nested(rng: random.Random, data: bytes) -> bytes:
    return rng.choice((b"[" * 100_000, b'{"a":' * 50_000, b"[" * 900 + b"]" * 900)) + b"\n" + data


def structure(rng: random.Random, data: bytes) -> bytes:
    """Values somewhere in the JSON of a file, or of one of its lines, become others."""
    lines = data.split(b"\n")
    places = [at for at, line in enumerate(lines) if line.startswith((b"{", b"["))]
    whole = data.lstrip().startswith((b"{", b"[")) and not _is_json(lines[0])
    if not places:
        return flip(rng, data)
    if whole:
        return _changed(rng, data)
    for at in rng.sample(places, min(len(places), rng.choice((1, 1, 3, 1000)))):
        lines[at] = _changed(rng, lines[at])
    return b"\n".join(lines)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _changed(rng: random.Random, line: bytes) -> bytes:
    try:
        value = json.loads(line)
    except ValueError:
        return line
    for _ in range(rng.choice((1, 1, 2, 8))):
        value = _replaced(rng, value)
    return json.dumps(value).encode()


def _replaced(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = rng.choice(sorted(value))
        kept = dict(value)
        if rng.random() < 0.1:
            del kept[name]
        else:
            kept[name] = _replaced(rng, value[name])
        return kept
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return [*value[:at], _replaced(rng, value[at]), *value[at + 1 :]]
    return rng.choice(VALUES)


BYTES: tuple[Mutation, ...] = (flip, cut, stuff, repeat)
TEXT: tuple[Mutation, ...] = (*BYTES, structure, structure, structure, structure, nested)
