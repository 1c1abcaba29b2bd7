"""Lines that are no messages: what was seen to end a coordinator, and valid messages with one thing wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from holdfast.launch import messages

VALID: tuple[messages.Message, ...] = (
    messages.Hello(1, "word", "node1", 7),
    messages.Pong(12.5),
    messages.Status(True, 1, 7, 40, "step", 90, "R", 0.5, 1, 39, 1.5, 0.25),
    messages.Stacks("stacks/1.json", ("main (train.py:3)", "fit (trainer.py:9)")),
    messages.ProcessEnded(
        1, None, "SIGKILL", 137, 40, {"summary": "it ended", "cause": "killed-from-outside", "title": "killed",
                                      "because": [{"fact": "SIGKILL", "source": "exit status"}]},
    ),
    messages.Ping(3.0),
    messages.Start(1, 2, "127.0.0.1:4000", False),
    messages.Stop("SIGTERM"),
    messages.Kill("the group is brought down"),
    messages.TakeStacks(),
    messages.Leave(0),
)  # fmt: skip

SEEN = (
    b'{"hello": null}',
    b'{"hello": [1]}',
    b'{"hello": 1e999}',
    b'{"hello": 1}',
    b'{"status": {"step": 1}}',
    b'{"a":' * 100_000,
    b"[" * 100_000,
    b"{" * 1_000,
    b"[" * 900 + b"]" * 900,
    b"",
    b"null",
    b"[]",
    b"7" * 5_000,
    b'"hello"',
    b"GET / HTTP/1.1\r",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\xff\xfe{\x00}\x00",
    b"\x00" * 100,
    b'{"kind": null}',
    b'{"kind": ["hello"]}',
    b'{"kind": {"hello": 1}}',
    b'{"kind": "nothing"}',
    b'{"kind": "hello"}',
    b'{"kind": "hello", "rank": 1, "token": ["word"], "host": "h", "pid": 1}',
    b'{"kind": "hello", "rank": 1, "token": "\\ud800", "host": "h", "pid": 1}',
    b'{"kind": "hello", "rank": NaN, "token": "word", "host": "h"}',
    b'{"kind": "hello", "rank": -1, "token": "word", "host": "h"}',
    b'{"kind": "hello", "rank": 99999, "token": "word", "host": "h"}',
    b'{"kind": "hello", "rank": true, "token": "word", "host": "h"}',
)

WRONG: tuple[Any, ...] = (
    None, True, -1, 2**70, 10**400, 0.5, -0.5, float("nan"), float("inf"), "", "x", "\x1b]0;owned\x07", "\ud800",
    "1:99999", "a:1" * 200_000, [], [[]], [None], {}, {"because": 3}, {"because": [3]}, {"summary": 3},
)  # fmt: skip


def mutated(dice: random.Random, count: int) -> Iterator[bytes]:
    """Without line ends. A few are valid all the same: an optional field was left out, a text is another text."""
    for _ in range(count):
        fields = json.loads(messages.encode(dice.choice(VALID)))
        kind = dice.randrange(4)
        if kind == 0 and len(fields) > 1:
            del fields[dice.choice(list(fields))]
        elif kind <= 2:
            fields[dice.choice(list(fields))] = dice.choice(WRONG)
        line = json.dumps(fields).encode()
        if kind == 3:
            changed = bytearray(line)
            for _ in range(dice.randint(1, 4)):
                changed[dice.randrange(len(changed))] = dice.randrange(256)
            line = bytes(changed[: dice.randint(1, len(changed))])
        yield line.replace(b"\n", b" ")
