"""Loops around the training that end only by what they compute, by their source."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.probe.state.open_loops import around

_STEP = "    value, other = step()\n"


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("value = 1\nwhile value > 1e-4:\n    value = step()[0]\n", ["while `value > 0.0001`"]),
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
