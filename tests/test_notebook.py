"""`holdfast.watch` in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from holdfast.journal import reader, vitals
from holdfast.journal.events import AttemptEnded, AttemptStarted, Event, RunClosed, RunOpened, WatchLimited
from tests.waiting import PATIENCE_S, until


def events(folder: Path) -> list[Event]:
    return [entry.event for entry in reader.read(folder / "journal.jsonl")]


def run(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S
    )


def test_a_block_gives_a_journal_samples_and_a_verdict(tmp_path: Path) -> None:
    code = (
        "import holdfast, os, time\n"
        "with holdfast.watch('r') as w:\n"
        "    while not os.path.exists('r/vitals.jsonl'): time.sleep(0.05)\n"
        "print('after', w.folder)"
    )
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, "after r\n")
    assert "verdict[" in done.stderr
    said = events(tmp_path / "r")
    assert isinstance(said[0], RunOpened) and said[0].watch == "beside"
    (note,) = [event for event in said if isinstance(event, WatchLimited)]
    assert "the exit status" in note.unknown and "what it printed" in note.unknown
    (started,) = [event for event in said if isinstance(event, AttemptStarted)]
    samples = [sample for _, sample in vitals.read(tmp_path / "r/vitals.jsonl")]
    assert samples and all(sample.pid == started.pid and sample.processes == [] for sample in samples)
    assert isinstance(said[-1], RunClosed) and said[-1].outcome == "ended"


def test_an_exception_that_leaves_the_block_is_passed_on_and_recorded(tmp_path: Path) -> None:
    done = run("import holdfast\nwith holdfast.watch('r', quiet=True): raise ValueError('no')", tmp_path)
    assert done.returncode == 1 and "ValueError: no" in done.stderr
    (ended,) = [event for event in events(tmp_path / "r") if isinstance(event, AttemptEnded)]
    assert (ended.exit_code, ended.signal) == (1, None)


def test_a_short_block_is_timed_from_its_first_line(tmp_path: Path) -> None:
    """The companion process starts while the block runs already."""
    run("import holdfast, time\nwith holdfast.watch('r', quiet=True): time.sleep(0.3)", tmp_path)
    (ended,) = [event for event in events(tmp_path / "r") if isinstance(event, AttemptEnded)]
    assert ended.duration_s >= 0.3


def test_a_process_that_is_killed_inside_the_block_is_recorded_as_gone(tmp_path: Path) -> None:
    code = "import holdfast, time\nwith holdfast.watch('r'): print(1, flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"1\n"
    until((tmp_path / "r/vitals.jsonl").exists, "the first sample")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: isinstance(events(tmp_path / "r")[-1], RunClosed), "the end of the record")
    said = events(tmp_path / "r")
    (ended,) = [event for event in said if isinstance(event, AttemptEnded)]
    assert (ended.exit_code, ended.signal) == (None, None)
    assert isinstance(said[-1], RunClosed) and said[-1].outcome == "gone"


def test_under_holdfast_run_the_block_adds_nothing(tmp_path: Path) -> None:
    code = "import holdfast\nwith holdfast.watch('inner') as w: print(w.folder)"
    words = [sys.executable, "-m", "holdfast", "run", "--run-dir", "outer", "--", sys.executable, "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, "None\n")
    assert not (tmp_path / "inner").exists()


def test_one_block_after_another_in_one_process(tmp_path: Path) -> None:
    code = (
        "import holdfast\n"
        "for name in ('a', 'b'):\n"
        "    with holdfast.watch(name, quiet=True) as block:\n"
        "        with holdfast.watch('inner') as inner: assert inner.folder is None\n"
        "    print(block.folder, block.verdict.outcome)\n"
    )
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, "a finished\nb finished\n"), done.stderr
    assert '"outcome": "finished"' in (tmp_path / "b/verdict.json").read_text()


def test_the_exception_that_left_the_block_is_the_cause(tmp_path: Path) -> None:
    done = run("import holdfast\nwith holdfast.watch('r'): {}['no']", tmp_path)
    assert "verdict[script-error]: KeyError" in done.stderr
