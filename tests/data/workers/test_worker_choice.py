"""`--workers`, as it is typed."""

from __future__ import annotations

import contextlib
import os

import pytest

from holdfast.data.files import process_pool
from holdfast.data.workers import ray_cluster, worker_choice
from holdfast.data.workers.worker_choice import WorkerChoice


def test_what_may_be_typed() -> None:
    assert worker_choice.parse("4") == WorkerChoice(count=4)
    assert worker_choice.parse("auto") == WorkerChoice(address="auto")
    assert worker_choice.parse("ray://head:10001").on_ray
    for wrong in ("0", "-1", "4.0", "ray", "ray://head", "ray://head:1:2", "http://head:1", "5000", "²"):
        with pytest.raises(ValueError):
            worker_choice.parse(wrong)


def _pid(shared: None, item: int) -> int:
    return os.getpid()


@pytest.fixture
def a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is connected to, and sees all files."""
    monkeypatch.setattr(ray_cluster, "connected", lambda address: contextlib.nullcontext())
    monkeypatch.setattr(ray_cluster, "require_same_view", lambda reads: None)


def test_what_is_kept_for_the_next_start_is_kept_until_the_command_is_done(a_cluster: None) -> None:
    done: list[str] = []
    finish = lambda: done.append("removed")  # noqa: E731
    with worker_choice.using(WorkerChoice(address="auto")):
        worker_choice.when_done(finish)
        worker_choice.when_done(finish)  # by the second part of the work
        assert done == []
    assert done == ["removed"]
    with pytest.raises(KeyboardInterrupt), worker_choice.using(WorkerChoice(address="auto")):
        worker_choice.when_done(finish)
        raise KeyboardInterrupt
    with worker_choice.using(WorkerChoice(address="auto")):
        pass
    assert done == ["removed"]


def test_a_choice_lasts_as_long_as_its_command() -> None:
    with worker_choice.using(WorkerChoice(count=1)):
        assert len(set(process_pool.run(_pid, None, range(100), crashed=lambda item: 0))) == 1
    assert worker_choice.current() == WorkerChoice()
