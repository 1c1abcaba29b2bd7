"""A model of which training changes no weight."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.looked_at import FALLS, FLAT, targets, trained
from tests.explain.made import Run, facts


def _trainable(run: Run, count: int, changed: bool) -> None:
    run.probe(ev.ModelSeen(parameters=1000, trainable_parameters=count, where="train.py:25"))
    run.fit()
    run.epochs([100, 100, 100], weights_changed=changed)
    run.ended(0)


def example(run: Run) -> None:
    _trainable(run, 0, False)


def near_miss(run: Run) -> None:
    """A frozen backbone under a head that learns."""
    _trainable(run, 12, True)


def test_the_frozen_model_is_a_fact(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.cause, first.strength) == ("nothing-trainable", Strength.ESTABLISHED)
    assert facts(first)["model.frozen"] == {"parameters": 1000, "where": "train.py:25"}
    assert facts(first)["weights.none-changed"] == {"steps": 300}


def _warned_and_fitted(path: Path, *trainable: int) -> list[str]:
    """Keras warns in the first fit; each fit has its own model."""
    run = Run(path)
    for at, count in enumerate(trainable):
        run.probe(ev.ModelSeen(name=f"model_{at}", parameters=count, trainable_parameters=count))
        run.fit()
        if at == 0:
            run.probe(ev.WarningSeen(text="The model does not have any trainable weights."))
        run.epochs([100, 100, 100], weights_changed=None)
    run.ended(0)
    return [one.cause for one in run.verdict().findings if one.cause == "nothing-trainable"]


def test_a_later_fit_trains_another_model(tmp_path: Path) -> None:
    """A guide shows a layer without weights by a fit of one step, and trains a model after that."""
    assert _warned_and_fitted(tmp_path / "only", 0) == ["nothing-trainable"]
    assert _warned_and_fitted(tmp_path / "both", 0, 0) == ["nothing-trainable"]
    assert _warned_and_fitted(tmp_path / "later", 0, 107472) == []


def _by_the_batch(path: Path, *trainable: int) -> list[str]:
    run = Run(path)
    for count in trainable:
        run.probe(ev.ModelSeen(parameters=1000, trainable_parameters=count, where="train.py:25"))
    run.probe(ev.LoopSeen(by="train_on_batch", where="train.py:30"))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=400)
    run.ended(0)
    return [one.cause for one in run.verdict().findings]


def test_a_frozen_model_trained_by_the_batch(tmp_path: Path) -> None:
    assert _by_the_batch(tmp_path / "frozen", 0) == ["nothing-trainable"]
    assert _by_the_batch(tmp_path / "adversary", 1000, 0) == []  # one of two is frozen while the other learns


@pytest.mark.parametrize(("trainable", "reached"), [((), False), ((1000,), False), ((0,), True)])
def test_a_loss_that_no_gradient_comes_from_is_no_frozen_model(
    tmp_path: Path, trainable: tuple[int, ...], reached: bool
) -> None:
    run = Run(tmp_path / "run")
    for count in trainable:
        run.probe(ev.ModelSeen(parameters=1000, trainable_parameters=count, where="train.py:25"))
    run.fit()
    run.raised("ValueError", "No gradients provided for any variable.", user_line="train.py:20")
    found = run.verdict().findings[0]
    assert (found.cause, found.strength) == ("nothing-trainable", Strength.ESTABLISHED)
    assert found.title.kind == ("nothing-trainable" if reached else "nothing-trainable.no-gradient")


def test_an_optimizer_that_is_given_no_gradient_at_all_has_nothing_to_train(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    frames = ["train.py:11 <module>", "keras/src/optimizers/base_optimizer.py:463 apply_gradients"]
    run.raised(
        "ValueError",
        "not enough values to unpack (expected 2, got 0)",
        user_line="train.py:11",
        frames=frames,
    )
    assert (run.first().cause, run.first().strength) == ("nothing-trainable", Strength.ESTABLISHED)
    other = Run(tmp_path / "other")
    other.raised("ValueError", "not enough values to unpack (expected 2, got 0)", user_line="train.py:11")
    assert (other.first().cause, other.first().strength) == ("script-error", Strength.ESTABLISHED)


@pytest.mark.parametrize(
    ("trainable", "losses", "said"), [(50, FLAT, True), (500, FLAT, False), (50, FALLS, False)]
)
def test_a_tiny_share_that_learned_nothing_is_possible(
    tmp_path: Path, trainable: int, losses: list[float], said: bool
) -> None:
    run = Run(tmp_path / "run")
    targets(run)
    trained(run, losses, model={"parameters": 10_000, "trainable_parameters": trainable})
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("nothing-trainable") == (Strength.POSSIBLE if said else None)


def test_an_optimizer_of_torch_whose_parameters_are_all_frozen(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    without = ev.StepsWithoutGradients(steps=600, where="train.py:45", optimizer="AdamW", frozen=3810)
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:45"), without)
    run.ended(0)
    assert (run.slugs(), run.first().strength) == (["nothing-trainable"], Strength.ESTABLISHED)
    other = Run(tmp_path / "other")
    cleared = without.changed(frozen=None, reached=True)  # its gradients were there, and were cleared
    other.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:45"), cleared)
    other.ended(0)
    assert other.slugs() == ["loss-not-falling"]


def test_an_optimizer_that_was_given_nothing_of_what_is_trained(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    of_old_head = ev.StepsWithoutGradients(
        steps=160, where="train.py:48", taken_where="train.py:46", optimizer_where="train.py:36"
    )
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:48"), of_old_head)
    run.ended(0)
    assert (run.slugs(), run.first().strength) == (["nothing-trainable"], Strength.ESTABLISHED)
    assert run.first().title.kind == "nothing-trainable.of-other-weights"


@pytest.mark.parametrize(
    ("returned", "change", "found"),
    [(False, 0.0, ["nothing-trainable"]), (True, 0.0, ["loss-not-falling"]), (False, 1e-4, [])],
)
def test_a_jitted_step_that_leaves_its_weights_alone(
    tmp_path: Path, returned: bool, change: float, found: list[str]
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="jax", where="train.py:20"))
    run.probe(ev.WeightsLeftAlone(where="train.py:20", returned=returned, weights=2))
    variables = [{"name": "", "layer": "w", "size": 64, "rms": 0.3, "rms_before": 0.3, "change": change}]
    run.probe(ev.WeightsMoved(since="start", step=255, variables=variables))
    run.ended(0)
    assert run.blamed() == found


def test_a_tape_that_is_asked_for_the_gradient_of_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.GradientsOfNothing(where="train.py:9", times=160))
    run.ended(0)
    assert run.blamed() == ["nothing-trainable"]


def test_an_optimizer_of_torch_without_a_parameter(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    without = ev.StepsWithoutGradients(
        steps=40,
        where="train.py:45",
        taken_where="train.py:44",
        optimizer="SGD",
        optimizer_where="train.py:30",
        frozen=0,
    )
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:45"), without)
    run.ended(0)
    assert (run.slugs(), run.first().strength) == (["nothing-trainable"], Strength.ESTABLISHED)
    assert next(iter(facts(run.first()))) == "optimizer.no-parameters"
