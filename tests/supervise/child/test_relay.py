"""The command's output arrives completely and in order, also while nobody reads what is typed."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.supervise.running import HOLDFAST, at_work_in, events, python
from tests.waiting import PATIENCE_S, until

from holdfast.journal.events import SupervisorLost

#: Two megabytes, more than any pipe holds.
MANY_LINES = b"".join(bytes([ord("a") + number % 26]) * 199 + b"\n" for number in range(10_000))


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """A relay ignores every signal but SIGKILL, so that one left behind by a test that fails would stay."""
    yield
    for pid in at_work_in(tmp_path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _at_a_terminal(folder: Path, code: str) -> tuple[int, int]:
    """A watched program with a terminal of its own: its process and the master of the terminal."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(HOLDFAST[0], [*HOLDFAST, "--run-dir", "r", *python(code)])
    return pid, master


def test_a_paste_that_the_command_does_not_read_does_not_stop_its_output(tmp_path: Path) -> None:
    code = (
        "import pathlib, time\nprint('ready', flush=True)\n"
        "while not pathlib.Path('pasted').exists(): time.sleep(0.05)\nprint('still heard', flush=True)"
    )
    pid, master = _at_a_terminal(tmp_path, code)
    shown = _until_shown(master, b"ready")
    _paste_all_it_takes(master)
    (tmp_path / "pasted").touch()
    shown += _until_shown(master, b"still heard")
    assert b"still heard" in shown
    _until_shown(master, b"  folder ")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    until(lambda: not at_work_in(tmp_path), "the relay to end")


def test_what_is_typed_in_one_piece_arrives_whole_at_a_command_that_reads_late(tmp_path: Path) -> None:
    """More than the terminal holds, in lines, as it takes no line of more than 4095 bytes."""
    code = (
        "import pathlib, sys, time\nprint('ready', flush=True)\n"
        "while not pathlib.Path('pasted').exists(): time.sleep(0.05)\n"
        "got = [sys.stdin.readline() for _ in range(1000)]\n"
        "print('whole' if got == [f'{n:063}\\n' for n in range(1000)] else 'torn', flush=True)"
    )
    pid, master = _at_a_terminal(tmp_path, code)
    _until_shown(master, b"ready")
    os.set_blocking(master, False)
    left = b"".join(b"%063d\n" % number for number in range(1000))
    shown, end = b"", time.monotonic() + PATIENCE_S
    while b"whole" not in shown and b"torn" not in shown and time.monotonic() < end:
        for _, what in _ready(master, writing=bool(left)):
            if what & select.POLLOUT and left:
                with contextlib.suppress(BlockingIOError):
                    left = left[os.write(master, left[:4096]) :]
            if what & select.POLLIN:
                shown += os.read(master, 65536)
        if len(left) < 40_000:
            (tmp_path / "pasted").touch()
    assert b"whole" in shown
    _until_shown(master, b"  folder ")
    os.waitpid(pid, 0)


def _ready(master: int, *, writing: bool) -> list[tuple[int, int]]:
    poll = select.poll()
    poll.register(master, select.POLLIN | (select.POLLOUT if writing else 0))
    return poll.poll(200)


def _until_shown(master: int, wanted: bytes) -> bytes:
    shown, end = b"", time.monotonic() + PATIENCE_S
    while wanted not in shown and time.monotonic() < end:
        if _ready(master, writing=False):
            try:
                shown += os.read(master, 65536)
            except OSError:  # the terminal has no user any more
                break
    return shown


def _paste_all_it_takes(master: int) -> None:
    """Until everything between here and the command is full: it has taken nothing for two seconds."""
    os.set_blocking(master, False)
    taken = time.monotonic()
    while time.monotonic() < taken + 2:
        try:
            os.write(master, b"x" * 60 + b"\n")
            taken = time.monotonic()
        except BlockingIOError:
            with contextlib.suppress(BlockingIOError):
                os.read(master, 65536)  # the echo, which must not be what is full
            time.sleep(0.02)
    os.set_blocking(master, True)


@pytest.mark.parametrize("blocking", [True, False])
def test_a_pipe_that_is_read_after_the_end_still_gets_everything(tmp_path: Path, blocking: bool) -> None:
    (tmp_path / "lines").write_bytes(MANY_LINES)
    reading, writing = os.pipe()
    os.set_blocking(writing, blocking)
    words = [*HOLDFAST, "--run-dir", "r", "--", "cat", "lines"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=writing, stderr=subprocess.DEVNULL)
    os.close(writing)
    assert process.wait(timeout=PATIENCE_S) == 0
    time.sleep(4)  # longer than a terminal would be given
    with os.fdopen(reading, "rb") as file:
        got = file.read()
    assert got == MANY_LINES
    assert not [
        one for one in events(tmp_path / "r") if isinstance(one, SupervisorLost)
    ]  # it was not gone before


def test_a_reader_that_goes_away_lets_the_relay_go(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(MANY_LINES)
    words = " ".join([*HOLDFAST, "--run-dir", "r", "--", "cat", "lines"])
    done = subprocess.run(
        ["bash", "-c", f"{words} | head -n 1"], cwd=tmp_path, capture_output=True, timeout=PATIENCE_S
    )
    assert done.stdout == MANY_LINES[:200]
    until(lambda: not at_work_in(tmp_path), "the relay to end")


def test_two_streams_into_one_file_keep_their_order(tmp_path: Path) -> None:
    loop = "for i in $(seq 300); do echo out $i; echo err $i >&2; done"
    with (tmp_path / "log").open("wb") as log:
        words = [*HOLDFAST, "--run-dir", "r", "--", "bash", "-c", loop]
        subprocess.run(
            words, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT, timeout=PATIENCE_S, check=True
        )
    until(lambda: not at_work_in(tmp_path), "the relay to end")
    expected = [f"{name} {number}" for number in range(1, 301) for name in ("out", "err")]
    assert (tmp_path / "log").read_text().splitlines()[:600] == expected
    assert (tmp_path / "r/output.log").read_text().splitlines() == expected


def test_a_block_of_ours_waits_for_the_end_of_a_progress_bar(tmp_path: Path) -> None:
    """The block about memory is printed when the line of the bar has ended, and not into it."""
    code = (
        "import sys, time, pathlib; out = sys.stdout\n"
        "import holdfast.journal.writer as w, holdfast.journal.events as ev, os\n"
        "j = w.JournalWriter(pathlib.Path(os.environ['HOLDFAST_RUN_DIR'], 'journal.jsonl'), by='probe')\n"
        "def until_watched(looks):\n"
        "    path = pathlib.Path(os.environ['HOLDFAST_RUN_DIR'], 'vitals.jsonl')\n"
        "    seen = lambda: path.read_bytes().count(b'\\n') if path.exists() else 0\n"
        "    before = seen()\n"
        "    while seen() < before + looks: time.sleep(0.05)\n"
        "out.write('\\r 1/9 [=>...]'); out.flush(); until_watched(2)\n"
        "j.append(ev.FootprintMeasured(host_peak_bytes=1 << 30)); until_watched(3)\n"
        "out.write('\\r 9/9 [=====]\\n'); out.flush()\n"
        "while not os.path.exists('shown'): time.sleep(0.05)\n"
    )
    with subprocess.Popen([*HOLDFAST, "--run-dir", "r", *python(code)], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as watched:  # fmt: skip
        assert watched.stdout is not None
        shown = []
        for line in watched.stdout:
            if line.startswith("holdfast: process memory after the first steps"):
                break
            shown.append(line)
        (tmp_path / "shown").touch()
        assert watched.stdout.read()
    assert "".join(shown).endswith(" 9/9 [=====]\n"), shown
