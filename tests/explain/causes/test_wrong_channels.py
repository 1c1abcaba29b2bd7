"""Numbers of channels: between images, and between an image and the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts


def not_batched(run: Run, element: str, batch: str) -> None:
    """What tf.data's batch raises."""
    run.raised(
        "InvalidArgumentError",
        "Graph execution error:\n\nCannot add tensor to the batch: number of elements does not match. Shapes are: "
        f"[tensor]: [{element}], [batch]: [{batch}]",
    )


def not_stacked(run: Run, usual: list[int], odd: list[int]) -> None:
    """What np.stack raises, and the shapes that the probe saw."""
    run.fit()
    run.probe(ev.ArrayShapesDiffered(usual=usual, odd=odd, index=5, total=8))
    run.raised("ValueError", "all input arrays must have the same shape", user_code="return np.stack(xs), ys")


def example(run: Run) -> None:
    not_batched(run, "64,64,4", "64,64,3")


def near_miss(run: Run) -> None:
    not_batched(run, "80,64,3", "64,64,3")


def test_one_image_among_others_in_a_batch(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().strength == Strength.ESTABLISHED
    assert run.first().title.values == {"odd": 4, "usual": 3}


@pytest.mark.parametrize(
    ("usual", "odd", "values"),
    [
        ([48, 48, 3], [48, 48, 4], {"odd": 4, "usual": 3}),
        ([48, 48, 3], [48, 48], {"odd": None, "usual": 3}),
        ([48, 48], [48, 48, 3], {"odd": 3, "usual": None}),
    ],
)
def test_arrays_that_do_not_stack(
    tmp_path: Path, usual: list[int], odd: list[int], values: dict[str, int | None]
) -> None:
    run = Run(tmp_path / "run")
    not_stacked(run, usual, odd)
    first = run.first()
    assert (first.cause, first.strength) == ("wrong-channels", Strength.ESTABLISHED)
    assert first.title.values == values
    assert facts(first)["arrays.unlike"] == {"number": 5, "of": 8, "odd": odd, "usual": usual}


@pytest.mark.parametrize(
    ("message", "kind", "values"),
    [
        ("Detected at node convolution\nDepth of input must be a multiple of depth of filter: 1 vs 3\n",
         "wrong-channels", {"wanted": 3, "given": 1}),
        ("expected input[8, 1, 64, 64] to have 3 channels, but got 1 channels instead",
         "wrong-channels", {"wanted": 3, "given": 1}),
        ("The number of channels must be 3, but the input has 4", "wrong-channels", {"wanted": 3, "given": 4}),
        ("expected axis -1 of input shape to have value 3, but received input with shape (None, 64, 64, 4)",
         "wrong-channels.shape", {"wanted": 3, "shape": "None, 64, 64, 4"}),
    ],
)  # fmt: skip
def test_what_the_model_takes(tmp_path: Path, message: str, kind: str, values: dict[str, object]) -> None:
    run = Run(tmp_path / "run")
    run.raised("InvalidArgumentError", message)
    assert (run.first().title.kind, run.first().title.values) == (kind, values)


def test_a_dense_layer_of_another_width_is_no_matter_of_channels(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised(
        "ValueError",
        "expected axis -1 of input shape to have value 128, but received input with shape (None, 64)",
    )
    assert "wrong-channels" not in run.slugs()
