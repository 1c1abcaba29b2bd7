"""Nobody is left alone with a silent command, and a quick one says nothing."""

from __future__ import annotations

import subprocess
import sys
import threading

from tests.waiting import PATIENCE_S

from holdfast.cli.slow_notice import notice_if_slow


def test_what_takes_long_is_said_once() -> None:
    said: list[str] = []
    heard = threading.Event()
    with notice_if_slow("reading data/", after_s=0.0, say=lambda text: (said.append(text), heard.set())[0]):
        assert heard.wait(PATIENCE_S)
    assert said == ["holdfast: reading data/ …"]


def test_what_is_quick_says_nothing() -> None:
    said: list[str] = []
    with notice_if_slow("reading data/", after_s=3600.0, say=said.append):
        pass
    assert said == []


def test_standard_output_stays_pure() -> None:
    code = (
        "import sys\n"
        "from holdfast.cli.slow_notice import notice_if_slow\n"
        "with notice_if_slow('looking', after_s=0.0):\n"
        "    sys.stdin.read()\n"  # until the parent has read the line
        "print('{}')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        assert child.stdin and child.stdout and child.stderr
        assert child.stderr.readline() == "holdfast: looking …\n"
        child.stdin.close()
        assert child.stdout.read() == "{}\n"
