"""Which events of a journal become messages, and when."""

from __future__ import annotations

from holdfast.journal import events as ev
from holdfast.journal.reader import Entry
from holdfast.notify.followed_run import STALL_SETTLES_S, DueNotice, FollowedRun


def seen(run: FollowedRun, event: ev.Event, *, now: float) -> list[DueNotice]:
    run.update([Entry(1, 0.0, now, "supervisor", 1, 1, event)], now=now)
    return run.due(now=now)


def test_a_stall_waits_for_its_stacks() -> None:
    run = FollowedRun()
    assert seen(run, ev.Stalled(), now=0.0) == []
    assert run.due(now=STALL_SETTLES_S - 0.1) == []
    assert run.due(now=STALL_SETTLES_S) == [DueNotice("stall")]
    assert run.due(now=99.0) == []
    ended = seen(run, ev.StallEnded(silent_for_s=75), now=100.0)
    assert ended == [DueNotice("recovered", "it moves again, after 1 min 15 s")]


def test_a_stall_that_is_over_at_once_is_not_worth_a_message() -> None:
    run = FollowedRun()
    seen(run, ev.Stalled(), now=0.0)
    assert seen(run, ev.StallEnded(silent_for_s=3), now=1.0) == []
    assert run.due(now=99.0) == []


def test_a_second_stall_is_another_message() -> None:
    run = FollowedRun()
    for start in (0.0, 100.0):
        seen(run, ev.Stalled(), now=start)
        assert [one.event for one in run.due(now=start + 5)] == ["stall"]
        assert [one.event for one in seen(run, ev.StallEnded(silent_for_s=9), now=start + 9)] == ["recovered"]


def test_a_restart_takes_the_place_of_the_stall_before_it() -> None:
    run = FollowedRun()
    seen(run, ev.Stalled(), now=0.0)
    restarted = seen(run, ev.Restarted(why="it stalled", pause_s=2.0), now=1.0)
    assert restarted == [DueNotice("restart", "restarted after 2 s: it stalled", attempt=1)]
    assert run.due(now=99.0) == []


def test_a_stall_that_ended_at_once_is_in_the_last_message() -> None:
    run = FollowedRun()
    seen(run, ev.Stalled(), now=0.0)
    assert seen(run, ev.AttemptEnded(signal="SIGTERM"), now=STALL_SETTLES_S) == []
    assert run.due(now=99.0) == []


def test_a_group() -> None:
    run = FollowedRun()
    assert seen(run, ev.GroupRemark(remark="straggler", text="rank 1 is slow"), now=0.0) == []
    silent = ev.GroupRemark(remark="silent", text="rank 1 is silent")
    assert seen(run, silent, now=1.0) == [DueNotice("stall", "rank 1 is silent")]
    assert seen(run, silent, now=2.0) == []
    assert [one.event for one in seen(run, ev.GroupRestarted(pause_s=1.0), now=3.0)] == ["restart"]


def test_other_events_are_no_news() -> None:
    run = FollowedRun()
    for event in (ev.RunOpened(), ev.AttemptEnded(exit_code=1), ev.RunClosed(outcome="failed")):
        assert seen(run, event, now=0.0) == []
