"""A stall inside a callback."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, Thread
from tests.explain.made import KERAS, Run, facts, user


def example(run: Run) -> None:
    run.fit()
    frames = [
        user(15, "on_epoch_end", "requests.post(url, json=logs)"),
        Frame(KERAS, 1, "fit"),
        user(30, "<module>"),
    ]
    run.stalled(
        "callback",
        Thread(
            tid=4000,
            main=True,
            state="S",
            wait="sk_wait_data",
            syscall="recvfrom fd=9 (socket:[99])",
            frames=frames,
        ),
        callback="Upload",
    )
    run.stopped()


def near_miss(run: Run) -> None:
    run.fit()
    run.stalled(
        "callback", Thread(tid=4000, main=True, state="S", frames=[user(15, "on_epoch_end")]), callback="Slow"
    )
    run.supervisor(ev.StallEnded(silent_for_s=95.0))
    run.epochs([100, 100, 100])
    run.ended(0)


def test_the_callback_and_its_line_are_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.cause, first.strength) == ("callback-blocked", Strength.ESTABLISHED)
    assert first.title.values["callback"] == "Upload"
    assert str(first.title.values["where"]).endswith("train.py:15")
    assert facts(first)["thread.computes-or-waits"] == {"busy": False, "wait": "recvfrom fd=9 (socket:[99])"}
