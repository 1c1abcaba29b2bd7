"""What the process reported in the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import (
    DataOnlyLoopSeen,
    DatasetSeen,
    EpochDone,
    Event,
    ExceptionRaised,
    FitDone,
    FitStarted,
    PipelineSeen,
    SaveStarted,
    ValidationDone,
    ValidationStarted,
)  # fmt: skip
from holdfast.journal.reader import Entry
from holdfast.supervise.recording.journal_state import JournalState


def state_after(*reported: Event) -> JournalState:
    state = JournalState()
    state.update([Entry(1, 0.0, 0.0, "probe", 7, 1, event) for event in reported])
    return state


def test_planned_steps_come_from_the_plan_or_from_an_epoch_that_was_seen() -> None:
    assert state_after().planned_steps is None
    assert state_after(FitStarted(epochs=5, initial_epoch=2, planned_steps_per_epoch=10)).planned_steps == 30
    assert state_after(FitStarted(epochs=5), EpochDone(steps=7)).planned_steps == 35
    two = state_after(
        FitStarted(epochs=1, planned_steps_per_epoch=10),
        FitDone(steps=10),
        FitStarted(epochs=2, planned_steps_per_epoch=20),
    )
    assert two.planned_steps == 50


def test_the_state_follows_the_events() -> None:
    state = state_after(
        FitStarted(callbacks=[{"class": "A"}, {"class": "B"}], iterations=400),
        FitStarted(callbacks=[{"class": "A"}, {"class": "B"}], iterations=500),
        DatasetSeen(role="validation", cardinality=-1),
        ValidationDone(batches=12),
        SaveStarted(path="/ckpt/a/m.keras"),
        ExceptionRaised(type="ValueError", user_line="train.py:41"),
    )
    assert (state.callback_name(2), state.callback_name(0), state.callback_name(9)) == ("B", "", "")
    assert (state.start_iterations, state.cardinality, state.longest_validation_batches) == (
        400,
        {"validation": -1},
        12,
    )
    assert state.save_folders == {Path("/ckpt/a")}
    assert state.exception == "ValueError at train.py:41"


@pytest.mark.parametrize(
    ("before", "endless"),
    [
        ((), False),  # a loop of the user's own, which may be left by a break
        ((DataOnlyLoopSeen(role="train"),), True),
        ((DataOnlyLoopSeen(role="validation"),), False),
        ((FitStarted(),), True),
        ((FitStarted(), FitDone()), False),
        ((FitStarted(), FitDone(), ValidationStarted()), True),
        ((ValidationStarted(), ValidationDone()), False),
    ],
)
def test_data_without_an_end_makes_a_pass_without_an_end_where_nothing_else_ends_it(
    before: tuple[Event, ...], endless: bool
) -> None:
    state = state_after(DatasetSeen(role="train", cardinality=-1), *before)
    assert state.never_ends("train") is endless
    assert state_after(DatasetSeen(role="train", cardinality=-2), *before).never_ends("train") is False


def test_what_a_filter_was_given_since_it_last_let_one_through() -> None:
    def nodes(passed: int, given: int) -> list[dict[str, object]]:
        return [
            {"name": "Batch"},
            {"name": "Filter(id:3)", "elements": passed},
            {"name": "Repeat", "elements": given},
        ]

    seen = [(0, 10), (0, 5_000), (0, 9_000), (1, 12_000), (1, 13_000), (0, 20)]
    readings = [PipelineSeen(nodes=nodes(passed, given)) for passed, given in seen]
    assert [state_after(*readings[: count + 1]).filtered_elements for count in range(6)] == [
        0,
        4_990,
        8_990,
        0,
        0,
        0,
    ]
    rarely = [PipelineSeen(nodes=nodes(1, given)) for given in (12_000, 100_000, 101_900)]
    assert state_after(*readings[:4], *rarely).filtered_elements == 89_900  # ten times what it took before


def test_a_filter_of_the_data_that_is_drawn_from_now() -> None:
    def reading(role: str, given: int) -> PipelineSeen:
        return PipelineSeen(role=role, nodes=[{"name": "Filter"}, {"name": "Repeat", "elements": given}])

    trained = [reading("train", 10), reading("train", 700)]
    validated = [ValidationStarted(), reading("validation", 5), reading("validation", 5_005)]
    assert state_after(*trained).filtered_elements == 690
    assert state_after(*trained, *validated).filtered_elements == 5_000
    assert state_after(*trained, *validated, ValidationDone()).filtered_elements == 690


def test_how_often_all_of_the_data_went_through_a_filter() -> None:
    def reading(given: int, of_round: int, passed: int = 0, repeat: str = "ForeverRepeat") -> PipelineSeen:
        nodes = [{"name": "Filter", "elements": passed}, {"name": repeat, "elements": given}]
        return PipelineSeen(nodes=[*nodes, {"name": "TensorSlice", "elements": of_round}])

    again = [reading(100, 100), reading(5_100, 400), reading(40_100, 500)]
    assert state_after(*again).filtered_rounds == 80
    assert state_after(*again, reading(40_200, 100, passed=1)).filtered_rounds == 0
    assert state_after(reading(100, 100), reading(40_100, 40_100)).filtered_rounds == 0  # the first round
    mapped = [reading(100, 100, repeat="Map"), reading(40_100, 100, repeat="Map")]
    assert state_after(*mapped).filtered_rounds == 0
