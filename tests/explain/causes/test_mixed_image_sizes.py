"""Elements of different shapes that were to become one batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.causes import test_wrong_channels
from tests.explain.made import Run, remedies


def example(run: Run) -> None:
    test_wrong_channels.near_miss(run)


def near_miss(run: Run) -> None:
    test_wrong_channels.example(run)


@pytest.mark.parametrize(
    ("one", "other", "remedy"),
    [
        ("80,64,3", "64,64,3", "images.resize-before-batching"),
        ("7,4", "3,4", "boxes.pad-batch"),
    ],
)
def test_images_are_resized_and_boxes_are_padded(tmp_path: Path, one: str, other: str, remedy: str) -> None:
    run = Run(tmp_path / "run")
    test_wrong_channels.not_batched(run, one, other)
    first = run.first()
    assert (first.cause, first.strength) == ("mixed-image-sizes", Strength.ESTABLISHED)
    assert first.title.values == {
        "shapes": [[int(side) for side in text.split(",")] for text in (one, other)]
    }
    assert remedies(first) == [remedy]


def test_sequences_of_different_lengths_are_not_images(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    test_wrong_channels.not_batched(run, "120", "95")
    assert run.slugs() == ["script-error"]


def test_arrays_that_do_not_stack(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    test_wrong_channels.not_stacked(run, [48, 48, 3], [40, 52, 3])
    assert (run.first().cause, run.first().strength) == ("mixed-image-sizes", Strength.ESTABLISHED)
    assert "wrong-channels" not in run.slugs()


def test_without_shapes_the_channels_may_differ_too(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("ValueError", "all input arrays must have the same shape")
    first = run.first()
    assert (first.strength, first.title.values) == (Strength.SUPPORTED, {"shapes": []})
    assert [fact.kind for fact in first.against] == ["arrays.shapes-unknown"]


def test_an_image_and_its_label_are_not_two_sizes(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(data=ev.DatasetSeen(type="tf.data"))
    run.raised(
        "InvalidArgumentError",
        "Shapes of all inputs must match: values[0].shape = [64,64,3] != values[1].shape = [7]",
    )
    assert "mixed-image-sizes" not in run.slugs()
