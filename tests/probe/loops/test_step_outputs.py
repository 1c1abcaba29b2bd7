"""What a step returned, by the names in its source."""

from __future__ import annotations

import pytest

from holdfast.probe.loops.step_outputs import by_name, read


def step(a: int, b: int) -> tuple[int, int, int]:
    loss = a
    accuracy = b
    return loss, accuracy, a + b


def detector_step(l_cls: float, l_box: float) -> tuple[float, float]:
    loss = l_cls + 2.0 * l_box / 4
    assert loss
    return l_cls, l_box


def scaled_step(l_cls: float, l_box: float, scale: float) -> tuple[float, float]:
    loss = scale * (l_cls + l_box)
    assert loss
    return l_cls, l_box


def test_values_of_a_step_are_known_by_the_names_it_returns() -> None:
    assert read(step).names == ["loss", "accuracy", "result 2"]
    assert read(len).names == []
    assert by_name(read(step), (0.5, 0.9, 7.0), "loss") == {"loss": 0.5, "accuracy": 0.9, "result 2": 7.0}


@pytest.mark.parametrize(
    ("function", "loss"),
    [(detector_step, 0.7), (scaled_step, None)],  # the scale is not among what is returned
)
def test_a_loss_of_which_only_the_terms_are_returned_is_put_together(
    function: object, loss: float | None
) -> None:
    found = by_name(read(function), (0.4, 0.6), "loss")
    assert {"l_cls": 0.4, "l_box": 0.6}.items() <= found.items()
    assert found.get("loss") == (pytest.approx(loss) if loss is not None else None)
