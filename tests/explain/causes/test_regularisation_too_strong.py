"""A penalty that outweighs the loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.looked_at import FALLS, FLAT, dense, kernel, look, moves, predictions, targets, trained
from tests.explain.made import Run, facts


def _fit(run: Run, penalty: float, rms: float, *, differ: bool, losses: list[float] = FLAT) -> None:
    targets(run)
    seen = look([dense("dense")], loss=0.7, penalty=penalty)
    trained(run, losses, seen, predictions(differ=differ), moves({**kernel("dense", 0.1), "rms": rms}))


def example(run: Run) -> None:
    _fit(run, 0.005, 0.0001, differ=False)


def near_miss(run: Run) -> None:
    """An ordinary weight decay."""
    _fit(run, 0.02, 0.09, differ=True)


def test_weights_pressed_to_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().title.kind == "regularisation-too-strong.collapsed"
    assert facts(run.first())["weights.shrunk"]["shrunk"] == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("penalty", "differ", "losses", "strength"),
    [
        (0.6, False, FLAT, Strength.SUPPORTED),
        (0.6, True, FLAT, Strength.POSSIBLE),
        (0.6, False, FALLS, None),
        (0.2, False, FLAT, None),
    ],
)
def test_how_sure_it_is(
    tmp_path: Path, penalty: float, differ: bool, losses: list[float], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    _fit(run, penalty, 0.1, differ=differ, losses=losses)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found.get("regularisation-too-strong") == strength


@pytest.mark.parametrize(
    ("rms", "losses", "blamed"),
    [((1e-9, 1e-8), FLAT, True), ((1e-9, 0.1), FLAT, False), ((1e-9, 1e-8), FALLS, False)],
)
def test_kernels_that_a_decay_in_the_optimizer_has_pressed_to_nothing(
    tmp_path: Path, rms: tuple[float, float], losses: list[float], blamed: bool
) -> None:
    """No layer shows a penalty."""
    run = Run(tmp_path / "run")
    targets(run)
    first, last = ({**kernel(f"weight {place}", 0.1), "rms": size} for place, size in enumerate(rms))
    trained(run, losses, moves(first, last))
    assert ("regularisation-too-strong" in run.slugs()) is blamed


@pytest.mark.parametrize(
    ("rms", "part", "last", "blamed"),
    [
        (1e-4, True, 0.694, True),
        (1e-4, True, 0.4, False),  # something was learned beside it
        (0.02, True, 0.694, False),  # the kernels are there
        (1e-4, False, 0.694, True),  # all of the loss is known, and it is that of a constant answer
    ],
)
def test_a_term_beside_the_loss_of_a_loop(
    tmp_path: Path, rms: float, part: bool, last: float, blamed: bool
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="jax", where="train.py:14"))
    run.probe(
        ev.OutputSeen(
            by="call", layer="Dense", units=2, activation="linear", loss="sparse_categorical_crossentropy",
            from_logits=True, part=part, loss_where="train.py:14", prediction_shape=[60, 2], target_shape=[60],
        )
    )  # fmt: skip
    run.probe(ev.ValuesSeen(role="target", rows=2000, classes={"0": 1000, "1": 1000}, class_count=2))
    for step in range(1, 800, 4):
        loss = 60.0 * 0.9**step + last
        run.probe(ev.LossSeen(step=step, logs={"loss": loss}, step_loss=loss))
    kernels = [
        {
            **kernel(f"weight {place}", 0.1),
            "name": "",
            "rms": rms * (place + 1),
            "rms_before": 0.4,
            "equal_units": False,
        }
        for place in range(2)
    ]
    run.probe(ev.WeightsMoved(since="start", step=511, variables=kernels))
    run.samples(2, phase="step", step=800, rss_bytes=1 << 28)
    run.ended(0)
    assert ("regularisation-too-strong" in run.slugs()) is blamed
    if blamed and part:
        first = run.first()
        assert first.title.kind == "regularisation-too-strong.beside-loss"
        assert facts(first)["loss.ends-at-constant-of-term"]["where"] == "train.py:14"
