"""A loss that does not fall: flat epochs, weights that do not change, gradients that are never applied."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies

_FLAT = [0.9384, 0.9383, 0.9384, 0.9384, 0.9383, 0.9384]


def _trained(run: Run, losses: list[float]) -> None:
    run.probe(ev.ModelSeen(parameters=100, trainable_parameters=100, learning_rate=1e-3))
    run.fit(epochs=len(losses))
    run.epochs([100] * len(losses), losses, weights_changed=True)
    run.ended(0)


def example(run: Run) -> None:
    _trained(run, _FLAT)


def near_miss(run: Run) -> None:
    _trained(run, [0.9384, 0.7, 0.5, 0.41, 0.4, 0.4])


def test_the_curve_is_a_fact(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert facts(run.first())["loss.flat"] == {"first": 0.9384, "last": 0.9384, "epochs": 6, "steps": 600}
    assert facts(run.first())["model.trainable"] == {"trainable": 100, "learning_rate": 1e-3}
    assert remedies(run.first()) == ["model.overfit-one-batch", "model.look-for-dead-units"]


@pytest.mark.parametrize(
    ("restored", "changed", "strength"),
    [
        (False, True, Strength.SUPPORTED),
        (True, True, Strength.POSSIBLE),
        (True, False, Strength.SUPPORTED),
    ],
)
def test_restored_weights_may_be_as_good_as_they_get(
    tmp_path: Path, restored: bool, changed: bool, strength: Strength
) -> None:
    run = Run(tmp_path / "run")
    if restored:
        run.probe(ev.Restored(path="best.weights.h5", by="load_weights", where="train.py:22"))
    run.fit(epochs=6)
    run.epochs([100] * 6, _FLAT, weights_changed=changed)
    run.ended(0)
    assert [(one.cause, one.strength) for one in run.verdict().findings] == [("loss-not-falling", strength)]


def test_gradients_that_are_never_applied(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    event = ev.GradientsNotApplied(
        where="train.py:23", times=192, optimizer="Adam", optimizer_where="train.py:13"
    )
    run.probe(event)
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength) == ("loss-not-falling", Strength.SUPPORTED)
    assert first.title.kind == "loss-not-falling.never-applied"
    assert facts(first)["gradients.taken"]["times"] == 192
    assert facts(first)["optimizer.took-no-step"]["optimizer_where"] == "train.py:13"


@pytest.mark.parametrize(
    ("iterations", "changed", "strength"),
    [(0, False, Strength.ESTABLISHED), (96, False, Strength.POSSIBLE), (96, True, None), (0, True, None)],
)
def test_a_train_step_that_applies_nothing(
    tmp_path: Path, iterations: int, changed: bool, strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    run.probe(
        ev.ModelSeen(parameters=1000, trainable_parameters=1000, learning_rate=1e-3, where="train.py:25")
    )
    run.fit(epochs=6, steps=16, iterations=0)
    run.epochs([16] * 6, [1.1, 1.09, 1.1, 1.08, 1.1, 1.09], iterations=iterations, weights_changed=changed)
    run.ended(0)
    found = [(one.cause, one.strength) for one in run.verdict().findings]
    assert found == ([("loss-not-falling", strength)] if strength is not None else [])


@pytest.mark.parametrize(("between", "again"), [(8, True), (0, False)])
def test_a_loss_that_was_read_long_ago_is_no_batch_that_returns(
    tmp_path: Path, between: int, again: bool
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="jax", where="train.py:30"))
    for step in range(1, 401):
        place = step % between if between else min(step // 10, 12)
        run.probe(ev.LossSeen(step=step, logs={"loss": 1.0 + place}))
    run.samples(3, rss_bytes=1 << 20, phase="between", step=400)
    run.ended(0)
    assert run.slugs() == (["loss-not-falling"] if again else [])


def _loop(path: Path, losses: list[float]) -> Run:
    run = Run(path / "run")
    for number, loss in enumerate(losses):
        run.probe(ev.LossSeen(step=1 + 50 * number, epoch=0, logs={"loss": loss}, step_loss=loss))
    run.ended(0)
    return run


def test_a_batch_that_always_has_the_same_loss(tmp_path: Path) -> None:
    others = [1.63, 0.72, 1.16, 0.77, 0.46, 1.27, 1.67, 0.86, 0.9, 1.26]
    run = _loop(tmp_path, [loss for other in others for loss in (1.1121861, other)])
    assert (run.first().cause, run.first().strength) == ("loss-not-falling", Strength.SUPPORTED)
    expected = {"loss": "1.1121861", "times": 10, "first_step": 1, "last_step": 901}
    assert facts(run.first())["loss.same-again"] == expected


def test_losses_that_merely_scatter_blame_nobody(tmp_path: Path) -> None:
    assert _loop(tmp_path, [1.0 + (n * 37 % 11) / 20 + n * 1e-7 for n in range(20)]).slugs() == []


@pytest.mark.parametrize(
    ("reached", "cause", "fact", "remedy"),
    [
        (False, "nothing-trainable", "optimizer.of-other-weights", "optimizer.give-its-parameters"),
        (True, "loss-not-falling", "optimizer.gradients-cleared-before", "gradients.clear-before-backward"),
    ],
)
def test_an_optimizer_whose_parameters_have_no_gradient(
    tmp_path: Path, reached: bool, cause: str, fact: str, remedy: str
) -> None:
    run = Run(tmp_path / "run")
    run.probe(
        ev.LoopSeen(by="torch_optimizer", where="train.py:30"),
        ev.StepsWithoutGradients(
            steps=320,
            reached=reached,
            where="train.py:30",
            taken_where="train.py:29",
            optimizer="Adam",
            optimizer_where="train.py:12",
        ),
    )
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength) == (cause, Strength.ESTABLISHED)
    assert facts(first)["optimizer.steps-without-gradient"]["steps"] == 320
    assert facts(first)[fact]["taken_where"] == "train.py:29"
    assert remedies(first) == [remedy]


@pytest.mark.parametrize(
    ("losses", "found"), [([1.0] * 20, ["loss-not-falling"]), ([1.0] * 10 + [0.1] * 10, [])]
)
def test_gradients_that_add_up_are_blamed_when_nothing_is_learned(
    tmp_path: Path, losses: list[float], found: list[str]
) -> None:
    run = Run(tmp_path / "run")
    for number, loss in enumerate(losses):
        run.probe(ev.LossSeen(step=number + 1, logs={"loss": loss + number * 1e-6}))
    run.probe(ev.GradientsKept(steps=200, where="train.py:31", optimizer="SGD"))
    run.ended(0)
    assert run.slugs() == found


def test_growth_by_gradients_that_are_never_cleared(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    losses = [1.0, 5.0, 80.0, 4e3, 5e5, 9e7, 1e9, 1e11]
    for number, loss in enumerate(losses):
        run.probe(ev.LossSeen(step=number + 1, logs={"loss": loss}))
    run.probe(ev.GradientsKept(steps=8, where="train.py:31", optimizer="SGD"))
    run.ended(0)
    first = run.first()
    assert first.cause == "learning-rate-too-high"
    assert facts(first)["gradients.never-cleared"]["where"] == "train.py:31"
    assert remedies(first)[0] == "gradients.clear"


@pytest.mark.parametrize(("passes", "found"), [(10, True), (2, False)])
def test_a_loop_that_stays_at_a_constant_answer_over_several_passes(
    tmp_path: Path, passes: int, found: bool
) -> None:
    """Four hundred steps: many only where all of the data came by again and again."""
    run = Run(tmp_path / "run")
    ids = {"0": 300, "1": 300, "2": 300}
    run.probe(ev.LoopSeen(by="jax", where="train.py:30"))
    loops = [{"where": "train.py:20", "kind": "range", "bound": "epochs", "count": passes}, {"kind": "range"}]
    run.probe(ev.LoopPlanned(loops=loops))
    run.probe(
        ev.OutputSeen(by="call", units=3, loss="sparse_categorical_crossentropy", from_logits=True),
        ev.ValuesSeen(role="target", rows=900, class_count=3, classes=ids, whole_numbers=True, min=0, max=2),
    )
    for step in (*range(1, 21), *range(60, 401, 20)):
        run.probe(ev.LossSeen(step=step, logs={"loss": 1.0987}, step_loss=1.0987))
    run.probe(ev.DependenceSeen(rows=1000, agreement=0.8, of="images", structure=0.9))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=400)
    run.ended(0)
    blamed = [(one.cause, one.strength) for one in run.verdict().findings]
    assert blamed == ([("loss-not-falling", Strength.SUPPORTED)] if found else [])
