"""Loops of people's own and generators, by their source and their code: which of them can end."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from holdfast.probe.state.loop_source import around, is_endless, never_left, never_returns

_STEP = "    value, other = step()\n"


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("value = 1\nwhile value > 1e-4:\n    value = step()[0]\n", ["while `value > 1e-4`"]),
        ("while True:\n" + _STEP + "    if other > 0.9:\n        break\n", ["until `other > 0.9`"]),
        ("done = False\nwhile not done:\n" + _STEP + "    done = float(value) < 3\n", ["while `not done`"]),
        ("while True:\n" + _STEP, []),
        ("while True:\n    try:\n        step()\n    except KeyboardInterrupt:\n        break\n", []),
        # a count, a clock, a question to the world, an attribute, the end of the data: it ends by itself
        ("n = 0\nwhile n < 9:\n    step()\n    n += 1\n", None),
        ("n = 0\nwhile n < 9:\n    step()\n    n = n + 1\n", None),
        ("import time\nt = time.time()\nwhile True:\n" + _STEP
         + "    if value < 0 or time.time() - t > 9:\n        break\n", None),
        ("import time\nt = time.time()\nwhile True:\n    step()\n    spent = time.time() - t\n"
         "    if spent > 9:\n        break\n", None),
        ("bad = 0\nwhile True:\n" + _STEP + "    bad += 1\n    if bad > 3:\n        break\n"
         "    if value < 1:\n        break\n", None),
        ("import os\nwhile not os.path.exists('stop'):\n    step()\n    break\n", None),
        ("while True:\n    try:\n        step()\n    except StopIteration:\n        break\n", None),
        ("for _ in range(3):\n    while True:\n        step()\n        break\n", None),
        ("def go():\n  for _ in range(3):\n    step()\nwhile True:\n    go()\n", "inner"),
    ],
)  # fmt: skip
def test_what_ends_the_loop(tmp_path: Path, text: str, until: Any) -> None:
    path = tmp_path / "train.py"
    path.write_text(text)
    seen: list[Any] = []

    class Reached(BaseException):
        pass

    def step() -> Any:
        frame = sys._getframe(1)
        seen.append(around(frame))
        outer = frame.f_back
        if outer is not None and outer.f_code.co_filename == str(path):
            seen.append(around(outer))
        raise Reached

    with pytest.raises(Reached):
        exec(compile(text, str(path), "exec"), {"step": step})
    if until == "inner":
        assert seen[0]["until"] is None and seen[1]["until"] == []
    else:
        assert seen[0]["until"] == until
        assert (
            seen[0]["where"].endswith(
                f":{1 + [line.lstrip()[:5] for line in text.splitlines()].index('while')}"
            )
            or until is None
        )


# -- a loop over the data -------------------------------------------------------------------------------

_IN = "for epoch in range(3):\n    for batch in "
EPOCHS = "for epoch in range(3):\n    for batch in data:\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (EPOCHS + "        step(batch)\n", True),
        (EPOCHS + "        for part in batch:\n            break\n", True),  # leaves another loop
        (EPOCHS + "        step(batch)\n        if late():\n            break\n", False),
        (EPOCHS + "        for part in batch:\n            raise SystemExit\n", False),
        (EPOCHS + "        try:\n            step(batch)\n        except OSError:\n            sys.exit(1)\n", False),
        ("for batch in data:\n    step(batch)\n", False),  # it may be meant to continue forever
        ("def go():\n    for batch in data:\n        step(batch)\nfor epoch in range(3):\n    go()\n", False),
        ("def go():\n  while True:\n    for batch in data:\n      step(batch)\n    break\ngo()\n", True),
        # what it iterates over ends, however long the data is
        (_IN + "islice(data, 9):\n        step(batch)\n", False),
        (_IN + "enumerate(islice(data, 9)):\n        step(batch)\n", False),
        (_IN + "zip(range(9), data):\n        step(batch)\n", False),
        ("part = islice(data, 9)\n" + _IN + "part:\n        step(batch)\n", False),
        (_IN + "enumerate(data, 1):\n        step(batch)\n", True),
    ],
)  # fmt: skip
def test_a_loop_inside_another_that_nothing_leaves(tmp_path: Path, text: str, found: bool) -> None:
    assert _asked(tmp_path, text) is found


def _asked(folder: Path, text: str, **how: bool) -> bool:
    path = folder / "train.py"
    path.write_text(text)
    answers: list[bool] = []

    class Data:
        """Asks about the loop that iterates over it, and ends."""

        def __iter__(self) -> Data:
            return self

        def __next__(self) -> Any:
            answers.append(never_left(sys._getframe(1), **how))
            raise StopIteration

    exec(
        compile(text, str(path), "exec"),
        {"data": Data(), "step": print, "late": bool, "sys": sys, "islice": islice},
    )
    return answers[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def evaluate():\n  for batch in data:\n    step(batch)\nevaluate()\n", True),
        ("def evaluate():\n  for batch in data:\n    if late():\n      return\nevaluate()\n", False),
        ("def evaluate():\n  for batch in islice(data, 9):\n    step(batch)\nevaluate()\n", False),
    ],
)
def test_a_loop_alone_that_nothing_leaves(tmp_path: Path, text: str, found: bool) -> None:
    assert _asked(tmp_path, text, alone=True) is found


# -- generators -----------------------------------------------------------------------------------------


def forever() -> Iterator[int]:
    while True:
        for number in range(3):
            yield number + 1


def until_it_breaks() -> Iterator[int]:
    while True:
        try:
            yield 1
        except ValueError:
            return


def with_a_break() -> Iterator[int]:
    while True:
        yield 1
        if id(None) == 0:
            break


def counting() -> Iterator[int]:
    yield from count()


class Loader:
    def batches(self) -> Iterator[int]:
        while True:
            yield 1


def test_only_a_loop_without_a_way_out_never_returns() -> None:
    assert never_returns(forever)
    assert never_returns(functools.partial(forever))
    assert never_returns(Loader().batches)
    assert never_returns(forever().gi_code)  # type: ignore[attr-defined]
    for ends in (until_it_breaks, with_a_break, counting, lambda: forever(), len, None):
        assert not never_returns(ends)


def test_a_dataset_is_endless_unless_something_behind_the_generator_ends_it() -> None:
    source = {"op": "generator", "endless": True}
    assert is_endless([{"op": "tensor"}, source, {"op": "map"}, {"op": "batch"}, {"op": "prefetch"}])
    assert not is_endless([source, {"op": "take", "count": 100}, {"op": "batch"}])
    assert not is_endless([source, {"op": "zip"}])
    assert not is_endless([{"op": "generator"}, {"op": "batch"}])
