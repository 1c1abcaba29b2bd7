"""A run that waits for somebody to type or to close a window."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.explain.causes.control.waiting_for_a_person import AwaitedInput
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, ProcessStacks, Thread
from tests.explain.made import KERAS, Run, facts, main_in_fit, user


def example(run: Run) -> None:
    run.fit()
    frames = [user(15, "on_epoch_end", 'input("go on? ")'), Frame(KERAS, 1, "fit"), user(30, "<module>")]
    run.output("go on? ")
    run.stalled(
        "callback",
        Thread(
            tid=4000,
            main=True,
            state="S",
            wait="anon_pipe_read",
            syscall="read fd=0 (pipe:[77])",
            frames=frames,
        ),
        callback="Ask",
    )
    run.stopped()


def near_miss(run: Run) -> None:
    """A read of a pipe that is not standard input."""
    run.fit()
    frames = [user(15, "load"), Frame(KERAS, 1, "fit"), user(30, "<module>")]
    run.stalled(
        "data-wait",
        Thread(
            tid=4000,
            main=True,
            state="S",
            wait="anon_pipe_read",
            syscall="read fd=7 (pipe:[78])",
            frames=frames,
        ),
    )
    run.stopped()


def test_the_line_that_asks_and_what_it_printed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.cause, first.strength) == ("waiting-for-a-person", Strength.ESTABLISHED)
    assert first.title.values["awaited"] == AwaitedInput.STANDARD_INPUT
    assert facts(first)["output.last-line"] == {"text": "go on?"}


PERSON = "waiting-for-a-person"
SUBPROCESS = Frame("/usr/lib/python3.11/subprocess.py", 1264, "wait")


def _causes(run: Run) -> list[str]:
    run.stopped()
    return [finding.cause for finding in run.verdict().findings]


def _reads(tid: int, what: str, *frames: Frame, main: bool = True, **more: str) -> Thread:
    return Thread(tid=tid, main=main, state="S", syscall=what, frames=list(frames), **more)


def _other(
    pid: int, thread: Thread, *, name: str = "cat", reads: tuple[str, ...] = (), parent: int = 4000
) -> ProcessStacks:
    return ProcessStacks(
        pid=pid, parent=parent, name=name, command=name, state="S", threads=[thread], reads=list(reads)
    )


@pytest.mark.parametrize("file", ["pipe:[77]", "/dev/pts/3"])
def test_a_helper_that_waits_for_work_is_not_asked_by_anybody(tmp_path: Path, file: str) -> None:
    """ffmpeg and a language server read standard input all day, and ffmpeg the terminal if it is given that."""
    run = Run(tmp_path / "run")
    run.fit()
    helper = _other(4100, _reads(4100, f"read fd=0 ({file})"))
    run.stalled("step", main_in_fit(), others=(helper,))
    assert PERSON not in _causes(run)


def test_a_thread_that_listens_for_a_key_is_not_the_training(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    listens = _reads(4007, "read fd=0 (/dev/pts/3)", user(8, "listen", "input()"), main=False)
    run.stalled("step", main_in_fit(), listens)
    assert PERSON not in _causes(run)


def test_a_window_that_another_process_shows_is_not_the_training(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    shows = Frame(
        "/venv/lib/python3.11/site-packages/matplotlib/backends/backend_tkagg.py", 1, "start_main_loop"
    )
    viewer = _other(4100, _reads(4100, "poll for ever", shows, user(3, "show")), name="python")
    run.stalled("step", main_in_fit(), others=(viewer,))
    assert PERSON not in _causes(run)


@pytest.mark.parametrize("inherited", [True, False])
def test_below_a_launcher_it_is_a_person_only_where_the_input_is_the_commands_own(
    tmp_path: Path, inherited: bool
) -> None:
    run = Run(tmp_path / "run")
    run.supervisor(ev.AttemptStarted(command=["bash", "train.sh"], pid=3999))
    run.fit()
    asks = _reads(
        4000, "read fd=0 (pipe:[77])", user(15, "ask", "sys.stdin.readline()"), Frame(KERAS, 1, "fit")
    )
    shell = _other(
        3999,
        _reads(3999, "wait4"),
        name="bash",
        reads=("pipe:[77]",) if inherited else ("pipe:[12]",),
        parent=1,
    )
    run.stalled("callback", asks, others=(shell,))
    assert (PERSON in _causes(run)) is inherited


def test_a_program_that_the_training_waits_for_may_ask_for_a_password(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    waits = Thread(
        tid=4000,
        main=True,
        state="S",
        syscall="wait4",
        frames=[SUBPROCESS, user(9, "<module>", "run(['git'])")],
    )
    git = _other(4100, _reads(4100, "read fd=3 (/dev/tty)"), name="git")
    run.stalled("build", waits, others=(git,))
    assert _causes(run)[0] == PERSON


def test_a_debugger_in_a_loader_holds_up_the_training_all_the_same(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    inside = _reads(
        4100, "read fd=0 (/dev/pts/3)", Frame("/usr/lib/python3.11/pdb.py", 1, "cmdloop"), user(4)
    )
    run.stalled("data-wait", main_in_fit(), others=(_other(4100, inside, name="python"),))
    assert PERSON in _causes(run)
