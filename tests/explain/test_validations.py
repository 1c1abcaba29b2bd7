"""What validations of a detector say about what it has learned."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal import events as ev
from tests.explain.made import Run
from tests.explain.recipe_runs import trained


def answers(**more: object) -> ev.ValidationAnswersSeen:
    known = {"step": 200, "images": 30, "objects": 60, "located": 0.8, "right": 0.9, "by_chance": 0.35, "classes": 3,
             "alike": 0.2, "highest": 0.7}  # fmt: skip
    return ev.ValidationAnswersSeen(**{**known, **more})


def causes(path: Path, seen: ev.ValidationAnswersSeen, precision: float, **more: object) -> list[str]:
    run = Run(path / "run")
    trained(run, precision=precision, answers=seen, **more)
    assert run.blamed() == []  # none of these is more than possible
    return run.slugs()


def test_healthy_answers_are_quiet(tmp_path: Path) -> None:
    assert causes(tmp_path, answers(), 0.6) == []


@pytest.mark.parametrize(
    ("right", "located", "objects", "found"),
    [
        (0.33, 0.8, 60, ["labels-unrelated"]),
        (0.33, 0.2, 60, []),  # it hardly locates any
        (0.33, 0.8, 12, []),  # too few to know
        (0.45, 0.8, 60, []),  # better than chance, if badly
        (0.54, 0.41, 58, []),  # a healthy run of a few images
        (0.18, 0.38, 58, ["labels-unrelated"]),  # the same with its classes dealt out
    ],
)
def test_classes_by_chance(
    right: float, located: float, objects: int, found: list[str], tmp_path: Path
) -> None:
    assert causes(tmp_path, answers(right=right, located=located, objects=objects), 0.2) == found


def test_one_class_is_always_right_by_chance(tmp_path: Path) -> None:
    assert causes(tmp_path, answers(right=1.0, by_chance=1.0, classes=1), 0.5) == []


def test_the_same_answers_for_every_image(tmp_path: Path) -> None:
    same = answers(alike=0.98, located=0.02, right=None)
    assert causes(tmp_path / "lost", same, 0.001) == ["loss-not-falling"]
    assert causes(tmp_path / "found", same, 0.3) == []  # a fixed camera, say
    assert causes(tmp_path / "short", same, 0.001, steps=20) == []


def test_a_loss_that_falls_by_heart(tmp_path: Path) -> None:
    """700 steps of 8 of 160 images are 35 passes."""
    lost, long = answers(located=0.02, right=None), {"steps": 700}
    assert causes(tmp_path / "heart", lost, 0.01, losses=(8.0, 0.3), **long) == ["labels-unrelated"]
    assert causes(tmp_path / "begun", lost, 0.01, losses=(8.0, 3.0), **long) == []
    assert causes(tmp_path / "learns", lost, 0.04, losses=(8.0, 0.3), **long) == []
    assert causes(tmp_path / "short", lost, 0.01, losses=(8.0, 0.3), steps=200) == []


def test_fine_tuning_at_a_tiny_rate_that_finds_objects(tmp_path: Path) -> None:
    """Its weights have hardly moved, and its loss has not fallen: it began with weights that find them."""
    kernels = [
        {"name": "kernel", "layer": f"conv_{n}", "size": 900, "rms": 0.05, "rms_before": 0.05, "change": 1e-6}
        for n in range(4)
    ]
    moved = ev.WeightsMoved(fit=1, since="start", step=200, variables=kernels)
    rate = ev.LossSeen(step=1, logs={"loss": 1.0}, learning_rate=1e-6)
    found: dict[float, list[str]] = {}
    for precision in (0.25, 0.01):
        run = Run(tmp_path / str(precision))
        trained(run, rate, moved, precision=precision, losses=(1.0, 1.05), learning_rate=1e-6)
        found[precision] = run.blamed()
    assert found == {0.25: [], 0.01: ["learning-rate-too-low"]}
