"""A training that ended too early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.looked_at import FLAT, targets, trained
from tests.explain.made import Run, code_of, facts, title_of

_FALLING = [0.95, 0.9, 0.86, 0.82, 0.78]


def example(run: Run) -> None:
    targets(run)
    trained(run, _FALLING, steps=1, accuracy=0.5)


def near_miss(run: Run) -> None:
    """As short, and it has learned."""
    targets(run)
    trained(run, [0.7, 0.5, 0.4], steps=20, accuracy=0.9)


def test_updates_and_accuracy(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().strength is Strength.SUPPORTED
    assert facts(run.first())["updates.few"]["steps"] == 5
    assert facts(run.first())["training.accuracy-against-majority"] == {"accuracy": 0.5, "majority": 0.5}


@pytest.mark.parametrize(
    ("steps", "accuracy", "losses", "strength"),
    [
        (30, None, _FALLING, None),  # it falls by less than a tenth, and what it has learned is not known
        (
            1,
            0.9,
            [0.7, 0.68, 0.65, 0.62, 0.6],
            Strength.SUPPORTED,
        ),  # five updates, hardly below a constant answer
        (1, 0.9, [0.7, 0.6, 0.5, 0.4, 0.3], None),
        (30, None, [3.0, 2.6, 2.2, 1.8, 1.4], Strength.POSSIBLE),
        (100, 0.5, _FALLING, None),
        (5, 0.9, _FALLING, None),
    ],
)
def test_how_sure_it_is(
    tmp_path: Path, steps: int, accuracy: float | None, losses: list[float], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, losses, steps=steps, accuracy=accuracy)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("too-few-updates") == strength


def test_a_flat_loss_needs_no_more_updates(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, [*FLAT[:2], FLAT[0]], steps=20, accuracy=0.5)
    assert "too-few-updates" not in run.slugs()


def test_a_trial_at_chance_after_a_handful_of_updates_is_possible(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, [0.7, 0.71], steps=2, accuracy=0.5)
    assert [(one.cause, one.strength) for one in run.verdict().findings] == [
        ("too-few-updates", Strength.POSSIBLE)
    ]


def test_a_trial_whose_answers_are_better_than_chance_is_not_blamed_for_its_loss(tmp_path: Path) -> None:
    """As keras.io's mnist_convnet after 16 updates: 23 % of ten classes are right, and the loss is near log(10)."""
    run = Run(tmp_path / "run")
    targets(run, {str(name): 10 for name in range(10)})
    trained(run, [2.33, 2.24], steps=8, accuracy=0.23)
    assert run.slugs() == []


@pytest.mark.parametrize(
    ("steps", "losses", "strength"),
    [
        (
            8,
            [0.694, 0.6935],
            Strength.POSSIBLE,
        ),  # as keras.io's reproducibility_recipes: a trial of two epochs
        (4, [0.694, 0.6935], Strength.POSSIBLE),  # as eanet
        (2, [0.694, 0.6935], Strength.POSSIBLE),  # one batch is half of the data
        (8, [0.695, 0.694, 0.6935], Strength.SUPPORTED),
    ],
)
def test_two_epochs_are_a_trial(tmp_path: Path, steps: int, losses: list[float], strength: Strength) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, losses, steps=steps, accuracy=0.5)
    assert [(one.cause, one.strength) for one in run.verdict().findings] == [("too-few-updates", strength)]


def _added_up(run: Run, batches: int, model: dict[str, Any], **done: Any) -> None:
    targets(run)
    run.probe(ev.ModelSeen(parameters=500, trainable_parameters=500, where="train.py:8", **model))
    run.fit(epochs=6, steps=batches, iterations=0)
    for number, loss in enumerate([0.72, 0.719, 0.718, 0.717, 0.716, 0.715]):
        run.probe(ev.EpochDone(fit=1, epoch=number, steps=batches, logs={"loss": loss}, duration_s=1.0))
    every = {"epochs": 6, "epochs_done": 6, "steps_by_epoch": [batches] * 6}
    run.probe(ev.FitDone(fit=1, steps=6 * batches, weights_changed=True, **{**every, **done}))
    run.ended(0)


@pytest.mark.parametrize(
    ("model", "done", "updates"),
    [
        ({"optimizer_settings": {"gradient_accumulation_steps": 100}}, {"iterations": 3}, 3),
        ({"optimizer_settings": {"gradient_accumulation_steps": 1000}}, {"iterations": 0}, 0),
        ({}, {"iterations": 12}, 12),  # a step of the user's own adds up
        ({"optimizer_settings": {"gradient_accumulation_steps": 2}}, {"iterations": 150}, None),
        ({}, {"iterations": 0}, None),  # nobody asks this optimizer
        ({}, {"iterations": 300}, None),
    ],
)
def test_gradients_of_many_batches_are_one_update(
    tmp_path: Path, model: dict[str, Any], done: dict[str, Any], updates: int | None
) -> None:
    run = Run(tmp_path / "run")
    _added_up(run, 50, model, **done)
    assert ("too-few-updates" in run.blamed()) is (updates is not None)
    if updates is not None:
        found = next(one for one in run.verdict().findings if one.cause == "too-few-updates")
        assert (found.title.values["steps"], found.title.values["batches"]) == (updates, 300)
        assert [(one.kind, one.values["each"]) for one in found.remedies] == [("updates.more", 3)]


def _loop(run: Run, exit_code: int = 0, **counted: Any) -> None:
    """Four classes, in a loop on torch whose first losses are those of a fresh network."""
    run.probe(
        ev.LoopSeen(by="torch_optimizer", where="train.py:18"),
        ev.ValuesSeen(
            role="target", rows=400, classes={str(one): 100 for one in range(4)}, class_count=4, shape=[]
        ),
        ev.OutputSeen(
            by="call", loss="sparse_categorical_crossentropy", from_logits=True, units=4, part=True
        ),
    )
    known = {
        "passes": 400,
        "updates": 4,
        "data_passes": 8,
        "first": 1.41,
        "newest": 1.39,
        "where": "train.py:18",
    }
    run.probe(ev.UpdatesCounted(**{**known, **counted}))  # type: ignore[arg-type]
    run.ended(exit_code)


@pytest.mark.parametrize(
    ("counted", "strength"),
    [
        ({}, Strength.SUPPORTED),
        ({"first": 0.0141, "newest": 0.0139}, Strength.SUPPORTED),  # divided by the batches of an update
        ({"first": 0.0141, "newest": 0.0102}, None),
        ({"first": 0.0222, "newest": 0.0221, "updates": 10}, Strength.SUPPORTED),  # by more: epochs end early
        ({"newest": 0.9}, None),
        ({"data_passes": 1}, Strength.POSSIBLE),  # a trial
        ({"first": 5.0, "newest": 4.9}, Strength.POSSIBLE),  # no fresh network, or another loss
        ({"first": 0.2, "newest": 0.19}, Strength.POSSIBLE),
        ({"first": None, "newest": None}, None),
        ({"updates": 40}, None),
        ({"passes": 80}, None),
        ({"exit_code": 1}, None),
    ],
)
def test_a_loop_that_adds_up(tmp_path: Path, counted: dict[str, Any], strength: Strength | None) -> None:
    run = Run(tmp_path / "run")
    _loop(run, **counted)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("too-few-updates") == strength


def test_what_is_said_of_a_loop_that_adds_up(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _loop(run)
    assert (
        title_of(run.first())
        == "the training ended after 4 updates in 400 batches, with the loss still falling"
    )
    assert facts(run.first())["updates.added-up"]["where"] == "train.py:18"
    assert code_of(run.first().remedies[0]).startswith("if (batch + 1) % 4 == 0:")
