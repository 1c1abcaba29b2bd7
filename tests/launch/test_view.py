"""Who is missing, silent, waited for, slow; and whose end brought the others about."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.journal.step_timing import COLLECTIVE, LOCAL_WORK, OUTSIDE_STEP
from holdfast.launch import group_table
from holdfast.launch.group_health import (
    AgentExit,
    GroupProblem,
    ProcessStatus,
    StepRate,
    first_failure,
    format_ranks,
    judge_group,
)

NOW = 1000.0


def seen(rank: int, **more: object) -> ProcessStatus:
    usual = {"host": f"node{rank}", "heard_at": NOW, "step": 40, "phase": "step", "state": "S", "pace": LOCAL_WORK,
             "moved_at": NOW, "running": True, "rates": [StepRate(0.1, 0.01, 0.15)] * 3}  # fmt: skip
    return ProcessStatus(rank, **{**usual, **more})  # type: ignore[arg-type]


def remarks(
    *all_seen: ProcessStatus, count: int | None = None, began: float = NOW - 100
) -> list[GroupProblem]:
    return judge_group(
        {one.rank: one for one in all_seen}, count=count or len(all_seen), began=began, now=NOW
    )


def test_nothing_is_said_of_a_group_that_moves() -> None:
    assert remarks(seen(0), seen(1, pace=COLLECTIVE), seen(2)) == []


def test_a_process_that_never_came_is_named_after_five_seconds() -> None:
    assert remarks(seen(0), count=2, began=NOW - 4) == []
    (one,) = remarks(seen(0), count=3, began=NOW - 12)
    assert (one.kind, one.ranks) == ("missing", (1, 2))
    assert one.words == "processes 1, 2 of 3 not there after 12 s; the others wait"


def test_a_host_without_a_word_is_named() -> None:
    (one,) = remarks(seen(0), seen(1, heard_at=NOW - 9))
    assert (one.kind, one.ranks, one.stands) == ("silent", (1,), True)
    assert (
        one.words
        == "process 1 on node1 has not been heard of for 9 s: the host or the network to it has gone"
    )


def test_the_one_that_the_others_wait_for_is_named() -> None:
    late = seen(1, phase="data-wait", pace=OUTSIDE_STEP, moved_at=NOW - 9)
    (one,) = remarks(
        seen(0, pace=COLLECTIVE, moved_at=NOW - 9), late, seen(2, pace=COLLECTIVE, moved_at=NOW - 9)
    )
    assert (one.kind, one.ranks) == ("waited-for", (1,))
    assert one.words == "all wait since 9 s for process 1 on node1 (step 40, phase data-wait)"


def test_compiling_and_validating_may_take_longer() -> None:
    waiting = seen(0, pace=COLLECTIVE, moved_at=NOW - 100)
    assert remarks(waiting, seen(1, phase="compile", moved_at=NOW - 100)) == []
    assert [one.kind for one in remarks(waiting, seen(1, phase="step", moved_at=NOW - 100))] == ["waited-for"]


def test_a_group_that_never_begins_is_told_after_twenty_minutes() -> None:
    still = [seen(rank, phase="build", pace=OUTSIDE_STEP, moved_at=NOW - 1230) for rank in (0, 1)]
    (one,) = remarks(*still)
    assert (one.ranks, one.stands) == ((0, 1), True)
    assert one.words == "no process has moved for 20 min (phase build)"


def test_when_all_wait_it_is_the_network() -> None:
    trips = {"round_trips_s": [0.4] * 5}
    (one, link) = remarks(
        seen(0, pace=COLLECTIVE, moved_at=NOW - 30, round_trips_s=[0.0002] * 5),
        seen(1, pace=COLLECTIVE, moved_at=NOW - 30, **trips),
    )
    assert (one.kind, one.ranks, link.kind) == ("network", (1,), "slow-link")
    assert link.words == "a message to process 1 on node1 and back takes 400 ms, to the others 0.2 ms"


def test_when_all_compile_their_validation_after_the_last_exchange_nobody_waits() -> None:
    both = [seen(rank, phase="validation", pace=COLLECTIVE, moved_at=NOW - 100) for rank in (0, 1)]
    assert remarks(*both) == []
    still = [seen(rank, phase="validation", pace=COLLECTIVE, moved_at=NOW - 301) for rank in (0, 1)]
    assert [one.kind for one in remarks(*still)] == ["network"]


def test_a_late_answer_now_and_then_is_no_slow_link() -> None:
    assert remarks(seen(0), seen(1, round_trips_s=[0.2, 0.001, 0.001, 0.2, 0.001])) == []


def test_when_the_exchange_takes_most_of_a_step_the_network_is_the_limit() -> None:
    """The one that comes last does not wait, so its time is that of the exchange alone."""
    last, early = [StepRate(0.3, 0.02, 0.9, 0.5)] * 3, [StepRate(0.25, 0.02, 0.9, 0.6)] * 3
    (one,) = remarks(seen(0, rates=early), seen(1, rates=last))
    assert (one.kind, one.ranks, one.stands, one.exchange_s) == ("exchange", (0, 1), False, 0.5)
    assert one.words == (
        "the exchange of a step takes 0.50 s of its 0.90 s, in every process, and what they compute at most 0.32 s: "
        "the network between them is the limit"
    )
    (one, _) = remarks(
        seen(0, rates=early, round_trips_s=[0.001] * 5), seen(1, rates=last, round_trips_s=[0.3] * 5)
    )
    assert one.ranks == (1,)
    assert one.words.endswith("; a message to process 1 on node1 and back takes 300 ms, to the others 1.0 ms")


def test_who_waits_for_a_slow_process_does_not_blame_the_network() -> None:
    waiting, slow = [StepRate(0.1, 0.01, 0.9, 0.75)] * 3, [StepRate(0.8, 0.01, 0.9, 0.05)] * 3
    (one,) = remarks(seen(0, rates=waiting), seen(1, rates=slow))
    assert one.kind == "straggler"


def test_an_exchange_of_milliseconds_is_not_worth_a_word() -> None:
    assert remarks(*(seen(rank, rates=[StepRate(0.004, 0.001, 0.02, 0.015)] * 3) for rank in (0, 1))) == []


def test_a_suspended_process_is_named() -> None:
    (one,) = remarks(seen(0, moved_at=NOW - 6), seen(1, state="T", moved_at=NOW - 6))
    assert (one.kind, one.ranks) == ("suspended", (1,))


def test_a_straggler_is_named_with_by_how_much() -> None:
    slow = seen(2, rates=[StepRate(0.3, 0.02, 0.35)] * 3)
    (one,) = remarks(seen(0), seen(1), slow)
    assert (one.kind, one.ranks, one.stands) == ("straggler", (2,), False)
    assert one.words == (
        "process 2 on node2 is slow: its own part of a step takes 0.32 s, 2.9 times that of the others; "
        "it is computing, and all lose 0.21 s a step"
    )


def test_a_straggler_that_waits_for_data_is_told_so_and_one_slow_window_is_nothing() -> None:
    (one,) = remarks(seen(0), seen(1, rates=[StepRate(0.1, 0.4, 0.5)] * 3))
    assert "it is waiting for data" in one.words
    once = [StepRate(0.1, 0.01, 0.15), StepRate(0.1, 0.4, 0.5), StepRate(0.1, 0.4, 0.5)]
    assert remarks(seen(0), seen(1, rates=once)) == []


def test_standing_at_different_steps_is_told() -> None:
    found = remarks(seen(0, step=50, moved_at=NOW - 4), seen(1, step=40, moved_at=NOW - 4))
    assert [one.kind for one in found] == ["apart"]
    assert found[0].words == "process 1 on node1 is at step 40, the furthest at 50"
    assert found[0].event().rank_steps == {"0": 50, "1": 40}


def ended(rank: int, at: float, code: int | None = None, by: str | None = None, **more: bool) -> AgentExit:
    return AgentExit(rank, f"node{rank}", at, code, by, code if code is not None else 137, **more)


def test_the_first_that_ended_by_itself_is_blamed_not_those_that_lost_a_peer() -> None:
    killed = ended(2, 5.0, by="SIGKILL")
    assert (
        first_failure([ended(0, 4.0, code=75), ended(1, 4.5, by="SIGABRT"), killed, ended(3, 4.9, code=70)])
        == killed
    )
    assert killed.words == "process 2 on node2 was ended by SIGKILL"


def test_nobody_is_blamed_where_all_ended_well_or_by_us() -> None:
    assert first_failure([ended(0, 1.0, code=0), ended(1, 2.0, by="SIGKILL", by_us=True)]) is None


def test_a_supervisor_that_went_is_blamed_before_its_consequences() -> None:
    gone = ended(1, 9.0, gone=True)
    assert first_failure([ended(0, 8.0, code=75), gone]) == gone
    assert gone.words == "process 1 on node1 and its supervisor have gone without a word"


def test_many_ranks_in_few_words() -> None:
    assert format_ranks((3,)) == "process 3"
    assert format_ranks(tuple(range(10))) == "processes 0, 1, 2, 3, 4, 5, 6, 7 …"


def test_the_group_at_a_glance(stored: Callable[[str, str], None]) -> None:
    found = group_table.group_rows(
        [seen(1, pace=COLLECTIVE, round_trips_s=[0.0004] * 5), seen(0, running=False, rates=[])], NOW
    )
    stored("launch/table", group_table.render({"at": 50.0, "attempt": 2, "processes": found}, 51.4))
