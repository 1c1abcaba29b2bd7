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
from tests.supervise.running import HOLDFAST, at_work_in, events, python, until

from holdfast.journal.events import SupervisorLost


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
    shown, end = b"", time.monotonic() + 60
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
    shown, end = b"", time.monotonic() + 60
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
    reading, writing = os.pipe()
    os.set_blocking(writing, blocking)
    words = [*HOLDFAST, "--run-dir", "r", "--", "seq", "1", "300000"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=writing, stderr=subprocess.DEVNULL)
    os.close(writing)
    assert process.wait(timeout=60) == 0
    time.sleep(4)  # longer than a terminal would be given
    with os.fdopen(reading, "rb") as file:
        got = file.read()
    assert (len(got), got[:4], got[-7:]) == (1_988_895, b"1\n2\n", b"300000\n")
    assert not [
        one for one in events(tmp_path / "r") if isinstance(one, SupervisorLost)
    ]  # it was not gone before


def test_a_reader_that_goes_away_lets_the_relay_go(tmp_path: Path) -> None:
    words = " ".join([*HOLDFAST, "--run-dir", "r", "--", "seq", "1", "300000"])
    done = subprocess.run(
        ["bash", "-c", f"{words} | head -n 1"], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert done.stdout == b"1\n"
    until(lambda: not at_work_in(tmp_path), "the relay to end")


def test_two_streams_into_one_file_keep_their_order(tmp_path: Path) -> None:
    loop = "for i in $(seq 300); do echo out $i; echo err $i >&2; done"
    with (tmp_path / "log").open("wb") as log:
        words = [*HOLDFAST, "--run-dir", "r", "--", "bash", "-c", loop]
        subprocess.run(words, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT, timeout=60, check=True)
    expected = [f"{name} {number}" for number in range(1, 301) for name in ("out", "err")]
    assert (tmp_path / "log").read_text().splitlines()[:600] == expected
    assert (tmp_path / "r/output.log").read_text().splitlines() == expected


def test_a_block_of_ours_waits_for_the_end_of_a_progress_bar(tmp_path: Path) -> None:
    """The block about memory is printed when the line of the bar has ended, and not into it."""
    code = (
        "import sys, time, pathlib; out = sys.stdout\n"
        "import holdfast.journal.writer as w, holdfast.journal.events as ev, os\n"
        "j = w.JournalWriter(pathlib.Path(os.environ['HOLDFAST_RUN_DIR'], 'journal.jsonl'), by='probe')\n"
        "out.write('\\r 1/9 [=>...]'); out.flush(); time.sleep(1.5)\n"
        "j.append(ev.FootprintMeasured(host_peak_bytes=1 << 30)); time.sleep(3)\n"
        "out.write('\\r 9/9 [=====]\\n'); out.flush(); time.sleep(3)\n"
    )
    done = subprocess.run([*HOLDFAST, "--run-dir", "r", *python(code)], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)  # fmt: skip
    before, _, after = done.stdout.partition("holdfast: process memory after the first steps")
    assert before.endswith(" 9/9 [=====]\n"), done.stdout
    assert after
