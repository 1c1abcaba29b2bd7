"""A write that blocks: which pipe, who should read it, which line made it."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength, Verdict
from holdfast.journal.stacks import Frame, ProcessStacks, Thread
from tests.explain.made import Run, main_in_fit, sentence, title_of, user

_LAUNCH = "/home/me/launch.py"
_SUBPROCESS = Frame("/usr/lib/python3.11/subprocess.py", 2047, "_try_wait")
_POOL = Frame("/usr/lib/python3.11/multiprocessing/connection.py", 384, "_send")


def _launcher(**more: object) -> ProcessStacks:
    waits = Thread(
        tid=3999, main=True, state="S", wait="do_wait", syscall="wait4",
        frames=[_SUBPROCESS, Frame(_LAUNCH, 6, "launch", "p.wait()")],
    )  # fmt: skip
    return ProcessStacks(
        pid=3999, name="python", command="python launch.py", state="S", threads=[waits], **more
    )  # type: ignore[arg-type]


def _verdict(path: Path, main: Thread, *others: ProcessStacks, phase: str = "between") -> Verdict:
    run = Run(path)
    run.stalled(phase, main, others=others)
    run.stopped()
    return run.verdict()


def _text(verdict: Verdict) -> str:
    return "\n".join(
        [title_of(verdict.findings[0]), *(sentence(fact) for fact in verdict.findings[0].because)]
    )


def test_the_launcher_that_does_not_read_is_named_with_its_line(tmp_path: Path) -> None:
    prints = Thread(
        tid=4000, main=True, state="S", wait="pipe_write", syscall="write fd=1 (pipe:[77])",
        frames=[user(9, "<module>", "print(loss)")],
    )  # fmt: skip
    launcher = _launcher(reads=["pipe:[77]"], makes_pipes=[f"{_LAUNCH}:4"])
    verdict = _verdict(tmp_path / "run", prints, launcher)
    assert (verdict.findings[0].cause, verdict.findings[0].strength) == (
        "output-pipe-full",
        Strength.ESTABLISHED,
    )
    assert f"the pipe was made at {_LAUNCH}:4" in _text(verdict)
    assert "process 3999 (python launch.py) holds the other end and does not read it" in _text(verdict)
    assert f"it stands at {_LAUNCH}:6 in launch" in _text(verdict)


def test_a_pipe_of_the_users_own_that_its_reader_does_not_read(tmp_path: Path) -> None:
    main = main_in_fit(
        user(5, "on_train_batch_end", "sink.stdin.write(line)"), wait="", syscall="write fd=7 (pipe:[78])"
    )
    sink = ProcessStacks(pid=4200, name="python", command="python sink.py", state="S", reads=["pipe:[78]"])
    verdict = _verdict(tmp_path / "run", main, sink, phase="callback")
    assert verdict.findings[0].cause == "output-pipe-full"
    assert "/home/me/train.py:5" in title_of(verdict.findings[0])


def test_a_pools_own_pipe_is_a_symptom(tmp_path: Path) -> None:
    feeds = main_in_fit(_POOL, wait="", syscall="write fd=7 (pipe:[78])")
    worker = ProcessStacks(pid=4200, name="python", command="python", state="S", reads=["pipe:[78]"])
    verdict = _verdict(tmp_path / "run", feeds, worker, phase="step")
    assert "output-pipe-full" not in [one.cause for one in verdict.findings]
