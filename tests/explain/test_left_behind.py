"""Processes that outlive another: below a wrapper that was killed, and of a pool when the script is over."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stacks import Frame, ProcessStacks, Thread
from tests.explain.made import Run, sentence, title_of, user

_POOL = "/usr/lib/python3.11/multiprocessing/pool.py"


def test_a_wrapper_that_was_killed_while_the_training_runs_on(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=1)
    trains = next(said for said in _entries(run) if said["kind"] == "fit_started")["pid"]
    run.ended(None, "SIGKILL", left_running=[{"pid": trains, "command": "python work.py"}])
    finding = run.verdict().findings[0]
    assert (finding.cause, finding.strength) == ("killed-from-outside", Strength.ESTABLISHED)
    assert f"the training below it runs on: process {trains} (python work.py)" in title_of(finding)


def test_a_helper_that_was_left_is_no_training(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=1)
    run.ended(None, "SIGKILL", left_running=[{"pid": 1, "command": "tensorboard"}])
    assert "runs on" not in title_of(run.verdict().findings[0])


def test_a_pool_that_is_not_done_when_the_script_is_over(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.WorkersStarted(by="multiprocessing.Pool", method="fork", count=2, where="train.py:7"))
    run.fit(epochs=1)
    run.epochs([100])
    run.probe(ev.ExitStarted(steps=100))
    waits = Thread(
        tid=4000, main=True, state="S", wait="do_wait", syscall="wait4",
        frames=[Frame(_POOL, 732, "Pool._terminate_pool")],
    )  # fmt: skip
    busy = Thread(tid=4100, main=True, state="S", wait="hrtimer_nanosleep", frames=[user(4, "busy")])
    others = (
        ProcessStacks(pid=4100, name="python", state="S", threads=[busy]),
        ProcessStacks(pid=4101, name="python", state="Z"),
    )
    run.stalled("exit", waits, others=others)
    run.stopped()
    finding = run.verdict().findings[0]
    assert finding.cause == "exit-hang"
    assert title_of(finding).endswith("the pool made at train.py:7 is not done")
    facts = [sentence(fact) for fact in finding.because]
    assert "process 4100 (python) still lives, at /home/me/train.py:4 in busy" in facts
    assert not any("4101" in fact for fact in facts)


_TF = "/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py"
_FORK = Frame("/usr/lib/python3.11/multiprocessing/popen_fork.py", 71, "Popen._launch")


def _child_in(*frames: Frame) -> ProcessStacks:
    main = Thread(
        tid=4100, main=True, state="S", wait="futex_do_wait", syscall="futex for ever", frames=list(frames)
    )
    rest = [
        Thread(tid=tid, state="S", wait="futex_do_wait", syscall="futex for ever") for tid in (4101, 4102)
    ]
    return ProcessStacks(pid=4100, name="python", state="S", threads=[main, *rest])


def _pool_waits(path: Path, child: ProcessStacks) -> list[str]:
    run = Run(path)
    run.fit(epochs=1)
    run.epochs([100])
    run.probe(
        ev.WorkersStarted(
            by="multiprocessing.Pool", method="fork", count=2, after_framework=True, where="train.py:7"
        )
    )
    waits = Thread(
        tid=4000,
        main=True,
        state="S",
        wait="futex_do_wait",
        frames=[Frame(_POOL, 774, "get"), user(8, "<module>")],
    )
    run.stalled("after", waits, others=(child,))
    run.stopped()
    return [f"{one.cause}: {title_of(one)}" for one in run.verdict().findings]


def test_a_forked_child_that_calls_tensorflow(tmp_path: Path) -> None:
    child = _child_in(Frame(_TF, 53, "quick_execute"), user(6, "score"), Frame(_POOL, 48, "mapstar"), _FORK)
    found = _pool_waits(tmp_path / "run", child)
    assert found[0] == (
        "fork-deadlock: a forked process (4100) calls TensorFlow or JAX at /home/me/train.py:6 in score, whose "
        "threads stayed behind in its parent"
    )


def test_a_child_that_was_spawned_has_its_threads(tmp_path: Path) -> None:
    child = _child_in(Frame(_TF, 53, "quick_execute"), user(6, "score"))
    assert not any(one.startswith("fork-deadlock") for one in _pool_waits(tmp_path / "run", child))


def _entries(run: Run) -> list[dict[str, object]]:
    import json

    return [json.loads(line) for line in (run.path / "journal.jsonl").read_text().splitlines()]
