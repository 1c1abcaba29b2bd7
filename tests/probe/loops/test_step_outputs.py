"""What a step returned, by the names in its source."""

from __future__ import annotations

from holdfast.probe.loops.step_outputs import names_in


def step(a: int, b: int) -> tuple[int, int, int]:
    loss = a
    accuracy = b
    return loss, accuracy, a + b


def test_values_of_a_step_are_known_by_the_names_it_returns() -> None:
    assert names_in(step) == ["loss", "accuracy", "result 2"]
    assert names_in(len) == []
