"""A process in state T: told by the kernel, by a sample, by its stacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal import events as ev
from holdfast.journal.stack_files import Thread
from tests.explain.made import MIB, Run, remedies

_STOPPED = Thread(tid=4000, main=True, state="T", wait="do_signal_stop")


def example(run: Run) -> None:
    run.fit()
    run.samples(3, rss_bytes=600 * MIB, phase="step", fit=1, step=40, state="T")
    run.supervisor(ev.ChildStateChanged(state="T", was="S"))
    run.stalled("step", _STOPPED)
    run.stopped()


def near_miss(run: Run) -> None:
    run.fit()
    run.supervisor(ev.ChildStateChanged(state="T", was="S"), ev.ChildStateChanged(state="S", was="T"))
    run.epochs([100, 100, 100])
    run.ended(0)


@pytest.mark.parametrize("seen_in", ["journal.jsonl", "vitals.jsonl", "stacks/"])
def test_one_source_is_enough(tmp_path: Path, seen_in: str) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    if seen_in == "journal.jsonl":
        run.supervisor(ev.ChildStateChanged(state="T", was="S"))
    elif seen_in == "vitals.jsonl":
        run.samples(3, rss_bytes=600 * MIB, phase="step", fit=1, step=40, state="T")
    else:
        run.stalled("step", _STOPPED)
    run.ended(signal="SIGKILL", stopped_by_us="stall")
    first = run.first()
    assert first.cause == "process-suspended" and remedies(first) == ["process.continue"]
    assert first.because[0].source.startswith(seen_in)
