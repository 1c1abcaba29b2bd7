"""Control characters are shown at one place, and no character set makes output fail."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.report.text import BOLD, PLAIN
from holdfast.terminal_text import VisibleText, encodable, visible, write_control
from tests.waiting import PATIENCE_S


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain größe …", "plain größe …"),
        ("a\tb\n", "a\tb\n"),
        ("\x1b]0;owned\x07\x1b[2J", "\\u001b]0;owned\\u0007\\u001b[2J"),
        ("\x9b2J\x7f\r", "\\u009b2J\\u007f\\u000d"),
        ("a\u202eb\udcff", "a\\u202eb\\udcff"),
    ],
)
def test_control_characters_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_our_colours_pass_where_they_are_asked_for() -> None:
    ours = f"{BOLD}verdict{PLAIN}"
    assert visible(ours, colours=True) == ours
    assert visible(ours) == "\\u001b[1mverdict\\u001b[0m"
    assert visible("\x1b[8mhidden\x1b[1;1H", colours=True) == "\\u001b[8mhidden\\u001b[1;1H"


def test_what_the_encoding_lacks_is_still_json() -> None:
    text = json.dumps({"name": "größe \U0001f600"}, ensure_ascii=False)
    assert encodable(text, "utf-8") == text
    assert encodable(text, "ascii").isascii()
    assert json.loads(encodable(text, "ascii")) == json.loads(text)


def test_a_stream_shows_and_moves() -> None:
    below = io.StringIO()
    stream = VisibleText(below)
    print("x\x1b[2J", file=stream)  # type: ignore[arg-type]
    write_control(stream, "\r\x1b[K")
    assert below.getvalue() == "x\\u001b[2J\n\r\x1b[K"


HOSTILE = (
    'raise RuntimeError("boom \\x1b]0;owned\\x07\\x1b[2J\\x1b[1;1Hverdict[finished]: fine \\udcff größe")\n'
)


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}])
def test_a_run_keeps_its_exit_code_and_its_verdict_in_any_locale(
    tmp_path: Path, locale: dict[str, str]
) -> None:
    (tmp_path / "t.py").write_text(HOSTILE.replace("RuntimeError", "SystemError"), encoding="utf-8")
    run = [sys.executable, "-m", "holdfast", "run", "--run-dir", "r", "--", sys.executable, "t.py"]
    environment = {**os.environ, **locale}
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, env=environment, timeout=PATIENCE_S)
    assert done.returncode == 1
    assert (
        json.loads((tmp_path / "r" / "verdict.json").read_bytes())["findings"][0]["cause"] == "script-error"
    )
    ours = done.stderr.split(b"holdfast: ", 1)[1]
    assert b"\x1b" not in ours and b"verdict[script-error]" in ours
    for command in (["explain", "r"], ["explain", "r", "--json"], ["report", "r"], ["top", ".", "--once"]):
        told = subprocess.run([sys.executable, "-m", "holdfast", *command], cwd=tmp_path, capture_output=True,
                              env={**environment, "PYTHONIOENCODING": "ascii"}, timeout=PATIENCE_S)  # fmt: skip
        assert b"bug in Holdfast" not in told.stderr and b"Traceback" not in told.stderr
        assert b"\x1b" not in told.stdout


def test_on_a_terminal_too(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(HOSTILE, encoding="utf-8")
    run = [sys.executable, "-m", "holdfast", "run", "--run-dir", "r", "--", sys.executable, "t.py"]
    subprocess.run(run, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S)
    ours, theirs = pty.openpty()
    explain = [sys.executable, "-m", "holdfast", "explain", "r"]
    with subprocess.Popen(explain, cwd=tmp_path, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 65536)
            except OSError:
                break
        process.wait(PATIENCE_S)
    os.close(ours)
    assert b"\\u001b]0;owned\\u0007" in shown
    assert b"\x1b]0" not in shown and b"\x1b[2J" not in shown
