"""One line on standard error, whatever standard error is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from holdfast.stderr import print_line
from tests.waiting import PATIENCE_S


def test_a_line_reaches_the_descriptor(capfd: pytest.CaptureFixture[str]) -> None:
    print_line("stalled: phase step …")
    assert capfd.readouterr().err == "stalled: phase step …\n"


def test_a_replaced_stream_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("in a notebook")
    assert capsys.readouterr().err == "in a notebook\n"


@pytest.mark.parametrize("break_it", ["os.close(2)", "sys.stderr.close()", "sys.stderr = None"])
def test_a_broken_stderr_ends_nothing(break_it: str) -> None:
    code = (
        f"import os, sys\nfrom holdfast.stderr import print_line\n{break_it}\nprint_line('x')\nprint('alive')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout == "alive\n"


def test_a_reader_that_left_ends_nothing() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    code = "from holdfast.stderr import print_line\nprint_line('x')\nprint('alive')"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=write_end, timeout=PATIENCE_S
    )
    os.close(write_end)
    assert done.stdout == b"alive\n"


def test_what_the_encoding_lacks_is_escaped() -> None:
    code = "from holdfast.stderr import print_line\nprint_line('…')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment, timeout=PATIENCE_S
    )
    assert done.stderr == b"\\u2026\n"
