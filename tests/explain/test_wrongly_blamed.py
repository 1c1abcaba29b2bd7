"""Ordinary runs that once got a wrong cause by name, and the verdict that each of them must get."""

# ruff: noqa: E501  a line of a log is one line

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.explain.finding import Strength
from holdfast.journal import events as ev

from .made import Run

NOT_A_FAILURE = (
    "W bfc_allocator.cc:296] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB with freed_by_count=0. The "
    "caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory "
    "were available.\n"
)
SHAPES = "Shapes (32, 10) and (32, 5) are incompatible"


def blamed(run: Run) -> dict[str, str]:
    """Causes that are named with more than a perhaps."""
    found = run.verdict().findings
    return {one.cause: one.strength.word for one in found if one.strength >= Strength.SUPPORTED}


# -- what was printed long before is another story -----------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "WARNING cache: [Errno 2] No such file or directory: 'labels_cache.json', building it anew\n",
        NOT_A_FAILURE,
        "matplotlib: Permission denied: '/root/.config/matplotlib', using /tmp\n",
        "wandb: WARNING Network error (ConnectionError), entering retry loop. https://api.wandb.ai\n",
        "tensorboard: upload of run-3 failed: No space left on device (server)\n",
        "GPU monitor started on port 9400\n",
    ],
)
def test_an_error_with_words_is_not_explained_by_a_line_before_it(line: str, tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.fit()
    run.output(line + "Epoch 1/3\n")
    run.raised("ValueError", SHAPES)
    assert blamed(run) == {"script-error": "established"}


# -- healthy runs ----------------------------------------------------------------------------------------


def folds(run: Run, stopped: set[int]) -> None:
    watcher = {"class": "EarlyStopping", "settings": {"monitor": "val_loss", "patience": 2}}
    for fold in range(1, 6):
        run.probe(
            ev.FitStarted(fit=fold, epochs=5, planned_steps_per_epoch=100, callbacks=[watcher], iterations=0)
        )
        count = 3 if fold in stopped else 5
        for epoch in range(count):
            logs = {"loss": 1 / (epoch + 1), "val_loss": 1 / (epoch + 1)}
            run.probe(ev.EpochDone(fit=fold, epoch=epoch, steps=100, logs=logs, duration_s=10))
        run.probe(
            ev.FitDone(fit=fold, steps=100 * count, epochs=5, epochs_done=count, stopped=fold in stopped,
                       steps_by_epoch=[100] * count)
        )  # fmt: skip


def test_a_fold_that_was_stopped_early_is_no_early_end(tmp_path: Path) -> None:
    run = Run(tmp_path)
    folds(run, {2})
    run.ended(0)
    assert (run.verdict().outcome, run.verdict().went_well) == ("finished", True)


def rates(run: Run, of: Callable[[int], float], callback: str, loss: Callable[[int], float]) -> None:
    run.probe(
        ev.FitStarted(
            epochs=100, planned_steps_per_epoch=100, callbacks=[{"class": callback, "settings": {}}]
        )
    )
    for epoch in range(100):
        logs = {"loss": loss(epoch)}
        run.probe(ev.EpochDone(epoch=epoch, steps=100, logs=logs, learning_rate=of(epoch), duration_s=10))
    run.probe(ev.FitDone(steps=10_000, epochs=100, epochs_done=100, steps_by_epoch=[100] * 100))
    run.ended(0)


@pytest.mark.parametrize("callback", ["ReduceLROnPlateau", "LearningRateScheduler"])
def test_a_low_rate_at_which_the_loss_still_falls_is_not_too_low(callback: str, tmp_path: Path) -> None:
    run = Run(tmp_path)
    rates(run, lambda epoch: 0.1 if epoch < 60 else 1e-4, callback, lambda epoch: 1 / (1 + epoch / 20))
    assert blamed(run) == {}


def test_a_low_rate_at_which_nothing_more_is_learnt_is_told(tmp_path: Path) -> None:
    run = Run(tmp_path)
    rates(
        run,
        lambda epoch: 0.1 if epoch < 30 else 1e-6,
        "ReduceLROnPlateau",
        lambda epoch: max(0.4, 1 - epoch / 50),
    )
    assert blamed(run) == {"learning-rate-collapsed": "established"}


@pytest.mark.parametrize("monitor", ["val_iou_loss", "val_brier_score", "neg_loss"])
def test_a_metric_is_not_watched_the_wrong_way_for_a_word_in_its_name(monitor: str, tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.fit(epochs=50)
    mode = "max" if monitor.startswith("neg") else "min"
    settings = {"monitor": monitor, "mode": mode, "patience": 3, "best": 0.41, "stopped_epoch": 4}
    run.probe(ev.StopRequested(by="EarlyStopping", epoch=4, step=500, settings=settings))
    run.epochs([100] * 5, stopped=True)
    run.ended(0)
    assert run.verdict().went_well


def test_a_fit_of_no_epochs_is_no_early_end(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.probe(ev.FitStarted(epochs=0, planned_steps_per_epoch=100))
    run.probe(ev.FitDone(steps=0, epochs=0, epochs_done=0))
    run.ended(0)
    assert (run.verdict().outcome, blamed(run)) == ("finished", {})


def test_a_save_that_found_another_way_is_no_failure(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.fit()
    run.epochs([100] * 3)
    run.probe(
        ev.SaveFailed(
            path="/models/a.keras", error="[Errno 13] Permission denied: '/models/a.keras'", errno=13
        )
    )
    run.probe(ev.SaveDone(path="/tmp/a.keras"))
    run.ended(0)
    assert blamed(run) == {}
