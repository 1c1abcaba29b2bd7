"""A fit for each move of a game: the journal does not grow with them, and what is asked of the last one is there."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.explain.gather import gather
from holdfast.journal import reader
from holdfast.journal.events import (
    EpochDone,
    Event,
    ExceptionRaised,
    FitDone,
    FitStarted,
    NonFiniteSeen,
    StopRequested,
    ValidationDone,
    ValidationStarted,
)
from holdfast.probe.state import fit_log
from holdfast.probe.state.fit_sampling import FitSampling

from ..probed import new_context


class Game:
    """Fits of two steps, each an eighth of a second, as a clock in our hands has it."""

    def __init__(self, folder: Path) -> None:
        self.context = new_context(folder)
        self.context.started = 0.0
        self.context.background = SimpleNamespace(every_second=lambda part, action: None)  # type: ignore[assignment]
        self.now = 100.0
        self.fits = self.context.fits
        self.fits.sampling = FitSampling(self.context, monotonic=lambda: self.now)

    def begin(self) -> fit_log.FitState:
        fit = self.fits.begin(SimpleNamespace(name="q"), {"epochs": 1, "steps_per_epoch": 2}, "play.py:9")
        self.context.losses.fit_begins(None)
        self.fits.record_started(fit, [{"class": "History"}])
        self.fits.epoch_begins(fit, 0)
        return fit

    def end(self, fit: fit_log.FitState, error: BaseException | None = None) -> None:
        self.context.heartbeat.step += 2
        self.context.heartbeat.train_batches = 2
        self.now += 0.125
        if error is None:
            self.fits.epoch_ends(fit, 0, {"loss": 0.5})
        self.fits.end(fit, error)

    def play(self, moves: int) -> None:
        for _ in range(moves):
            self.end(self.begin())

    def leave(self) -> None:
        for action in reversed(self.context.at_exit):
            action()

    def said(self, *kinds: type[Event]) -> list[Any]:
        entries = reader.read(self.context.folder.journal)
        return [entry.event for entry in entries if isinstance(entry.event, kinds)]


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return Game(tmp_path)


def test_the_first_fifty_are_told_then_one_in_ten_seconds(game: Game) -> None:
    game.play(400)
    started = [event.fit for event in game.said(FitStarted)]
    assert started[:50] == list(range(1, 51))
    assert started[50:] == [130, 210, 290, 370]
    assert [event.fit for event in game.said(EpochDone)] == started


def test_every_fit_and_every_step_is_counted_and_the_last_fit_is_whole(game: Game) -> None:
    game.play(380)
    game.leave()
    done = game.said(FitDone)
    assert sum(event.fits for event in done) == 380
    assert sum(event.steps for event in done) == 760
    assert sum(event.epochs_done for event in done) == 380
    last_start, last_done = game.said(FitStarted)[-1], done[-1]
    assert (last_start.fit, last_start.callbacks) == (380, [{"class": "History"}])
    assert (last_done.fit, last_done.fits, last_done.steps, last_done.steps_by_epoch) == (380, 1, 2, [2])


def test_what_explains_the_run_counts_all_of_its_steps_and_claims_no_plan(game: Game) -> None:
    game.play(380)
    game.leave()
    evidence = gather(game.context.folder.path, now=game.now)
    assert evidence.step == 760
    assert evidence.planned is None
    assert evidence.fit is not None
    assert (evidence.fit.number, evidence.fit.steps, evidence.fit.planned_steps) == (380, 2, 2)


def test_a_day_of_moves_takes_a_few_megabytes(game: Game) -> None:
    game.play(51)
    at_first = game.context.folder.journal.stat().st_size
    game.context.started = game.now - 86400
    game.play(9_600)  # twenty minutes of the second day
    assert game.context.folder.journal.stat().st_size - at_first < 60_000


def test_a_fit_that_an_exception_leaves_is_told_whole(game: Game) -> None:
    game.play(60)
    fit = game.begin()
    error = ValueError("no such move")
    game.context.exceptions.left_call(error, "fit")
    game.end(fit, error)
    kinds = [type(event).__name__ for event in game.said(FitStarted, ExceptionRaised, FitDone)[-3:]]
    assert kinds == ["FitStarted", "ExceptionRaised", "FitDone"]
    assert (game.said(FitStarted)[-1].fit, game.said(FitDone)[-1].raised) == (61, "ValueError")


def test_a_fit_that_does_not_come_back_is_told_from_the_background(game: Game) -> None:
    game.play(60)
    fit = game.begin()
    game.fits.sampling.check_long_fit(game.now + 0.5)
    assert game.said(FitStarted)[-1].fit == 50
    game.fits.sampling.check_long_fit(game.now + 1.5)
    assert game.said(FitStarted)[-1].fit == 61
    game.end(fit)
    assert game.said(FitDone)[-1].fit == 61
    assert [event.fit for event in game.said(FitStarted)].count(61) == 1


def test_a_loss_that_breaks_in_the_last_of_many_fits_stands_behind_its_start(game: Game) -> None:
    for _ in range(100):
        fit = game.begin()
        game.context.losses.logs_read(game.context.heartbeat.step + 1, 0, 1, {"loss": float("nan")}, None)
        game.end(fit)
    broken = [event.step for event in game.said(NonFiniteSeen)]
    assert len(broken) == 50 + 20  # with the first fits, then those that are told for it
    game.leave()
    kinds = [type(event).__name__ for event in game.said(FitStarted, NonFiniteSeen, FitDone)[-3:]]
    assert kinds == ["FitStarted", "NonFiniteSeen", "FitDone"]
    assert game.said(FitDone)[-1].fit == 100


def test_what_stops_a_fit_is_kept_with_it(game: Game) -> None:
    for _ in range(90):
        fit = game.begin()
        game.context.fits.record_notable(StopRequested(by="EarlyStopping", step=fit.number))
        game.end(fit)
    game.leave()
    assert [event.step for event in game.said(StopRequested)] == [*range(1, 71), 90]


def test_a_run_that_is_closed_tells_its_last_fit_and_the_next_run_begins_anew(game: Game) -> None:
    game.play(70)
    game.context.close()
    assert (game.said(FitStarted)[-1].fit, game.said(FitDone)[-1].fit) == (70, 70)
    assert sum(event.fits for event in game.said(FitDone)) == 70
    game.context.fits.new_run()
    game.context.closed = False
    game.play(1)
    assert game.said(FitStarted)[-1].fit == 71


def test_evaluations_by_themselves_are_told_at_first_and_now_and_then(game: Game) -> None:
    for _ in range(300):
        game.fits.validation_begins(None, 1)
        game.now += 0.125
        game.fits.validation_ends(None, {"loss": 0.5}, 0.1)
    assert len(game.said(ValidationStarted)) == 50 + 3
    assert len(game.said(ValidationDone)) == 50 + 3
