"""A training thread that stays at one point, by a thread that really does. The clock is the test's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.journal.beats import Phase
from holdfast.journal.events import ProbeFailed, SamePointSeen
from holdfast.probe.process import same_point
from holdfast.probe.runtime.context import ProbeContext

from ..probed import SCRIPTS, new_context, recorded, run


class Training:
    """A thread that trains; it waits for the test at a point that `script` chooses."""

    def __init__(self, folder: Path, script: Callable[[Training], None]) -> None:
        self.context: ProbeContext = new_context(folder)
        self.turn, self.waits, self.over = threading.Event(), threading.Semaphore(0), False
        self.thread = threading.Thread(target=script, args=(self,))
        self.thread.start()
        self.context.heartbeat.thread = self.thread.ident or 0
        self.context.heartbeat.step = 40
        self.context.heartbeat.phase = Phase.BETWEEN
        self.waits.acquire()

    def wait(self) -> None:
        self.waits.release()
        self.turn.wait()
        self.turn.clear()

    def polls(
        self, *, since: int, until: int, between: Callable[[], None] = lambda: None
    ) -> list[SamePointSeen]:
        for now in range(since, until):
            self.context.same_point.poll(float(now))
            between()
        return recorded(self.context, SamePointSeen)

    def next_turn(self) -> None:
        self.turn.set()
        self.waits.acquire()


def once(training: Training) -> None:
    """One wait, until the test ends."""
    batch, total = [1, 2], 0.5
    training.wait()
    del batch, total


def in_a_loop(training: Training) -> None:
    total = 0.0
    while not training.over:
        training.wait()
        total += 0.5


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Training]]:
    monkeypatch.setattr(same_point, "opens_gpu", lambda: True)  # there is none here
    begun: list[Training] = []

    def begin(script: Callable[[Training], None]) -> Training:
        begun.append(Training(tmp_path, script))
        return begun[-1]

    yield begin
    for one in begun:
        one.over = True
        one.turn.set()
        one.thread.join()


def test_a_wait_is_reported_every_few_seconds(train: Callable[..., Training]) -> None:
    training = train(once)
    seen = training.polls(since=0, until=24)
    assert [one.for_s for one in seen] == [8.0, 12.0, 16.0, 20.0]
    assert {one.step for one in seen} == {40}
    assert {one.where.rpartition(":")[0] for one in seen} == {"tests/probe/process/test_same_point.py"}
    assert seen[0].frames[0].endswith(" wait") and "threading.py:" in seen[0].frames[0]
    assert [frame.rpartition(" ")[2] for frame in seen[0].frames[1:4]] == ["wait", "wait", "once"]
    assert {one.result for one in seen} == {""}


def test_a_loop_changes_its_variables(train: Callable[..., Training]) -> None:
    training = train(in_a_loop)
    assert training.polls(since=0, until=60, between=training.next_turn) == []


def test_a_step_begins_anew(train: Callable[..., Training]) -> None:
    training = train(once)
    training.polls(since=0, until=9)
    training.context.heartbeat.step += 1
    assert training.polls(since=9, until=19) == []
    assert [one.step for one in training.polls(since=19, until=22)] == [41]


def test_a_silence_and_a_run_are_reported_so_many_times(
    train: Callable[..., Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    training = train(once)
    assert len(training.polls(since=0, until=300)) == 45
    monkeypatch.setattr(same_point, "_MAX_IN_ALL", 60)
    training.context.heartbeat.step += 1
    assert len(training.polls(since=300, until=600)) == 60


def test_nothing_is_read_without_a_gpu_or_before_the_first_step(
    train: Callable[..., Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    training = train(once)
    training.context.heartbeat.step = 0
    assert training.polls(since=0, until=30) == []
    training.context.heartbeat.step = 1
    monkeypatch.undo()
    assert same_point.opens_gpu() is False
    assert training.polls(since=30, until=60) == []


@pytest.mark.hot
def test_a_step_of_jax_that_is_not_done(tmp_path: Path) -> None:
    told = run(SCRIPTS / "jax_endless.py", folder=tmp_path / "run", cwd=SCRIPTS, JAX_PLATFORMS="cpu")
    assert told.code == 0, told.output
    assert told.all(ProbeFailed) == []
    step, evaluation = (int(word) for word in told.output.split()[-2:])
    seen = {(int(one.where.rpartition(":")[2]), one.result) for one in told.all(SamePointSeen)}
    assert {line for line, _ in seen} <= set(range(step, evaluation + 3))
    assert {result for line, result in seen if line >= evaluation} == {"ready"}
    # A step may be done in the moment between a look at its line and the question about its result.
    assert "pending" in {result for line, result in seen if line < evaluation}
