"""Loops of people's own, by their source."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.probe.state.for_loops import never_left

EPOCHS = "for epoch in range(3):\n    for batch in data:\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (EPOCHS + "        step(batch)\n", True),
        (EPOCHS + "        for part in batch:\n            break\n", True),  # leaves another loop
        (EPOCHS + "        step(batch)\n        if late():\n            break\n", False),
        (EPOCHS + "        for part in batch:\n            raise SystemExit\n", False),
        (EPOCHS + "        try:\n            step(batch)\n        except OSError:\n            sys.exit(1)\n", False),
        ("for batch in data:\n    step(batch)\n", False),  # it may be meant to go on for ever
        ("def go():\n    for batch in data:\n        step(batch)\nfor epoch in range(3):\n    go()\n", False),
        ("def go():\n  while True:\n    for batch in data:\n      step(batch)\n    break\ngo()\n", True),
    ],
)  # fmt: skip
def test_a_loop_inside_another_that_nothing_leaves(tmp_path: Path, text: str, found: bool) -> None:
    path = tmp_path / "train.py"
    path.write_text(text)
    answers: list[bool] = []

    class Data:
        """Asks about the loop that stands at it, and is over."""

        def __iter__(self) -> Data:
            return self

        def __next__(self) -> Any:
            answers.append(never_left(sys._getframe(1)))
            raise StopIteration

    exec(compile(text, str(path), "exec"), {"data": Data(), "step": print, "late": bool, "sys": sys})
    assert answers[0] is found
