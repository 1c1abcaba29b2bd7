"""A callback that watches a metric which is not logged."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import events as ev
from tests.explain.made import Run, facts


def _monitored(run: Run, monitor: str) -> None:
    run.fit(epochs=5, callbacks=[{"class": "EarlyStopping", "settings": {"monitor": monitor, "patience": 1}}])
    for epoch in range(5):
        run.probe(
            ev.EpochDone(
                epoch=epoch, steps=100, logs={"loss": 1.0 / (epoch + 1), "val_loss": 1.0 / (epoch + 1)}
            )
        )
    run.probe(ev.FitDone(steps=500, epochs=5, epochs_done=5, steps_by_epoch=[100] * 5))
    run.ended(0)


def example(run: Run) -> None:
    _monitored(run, "val_los")


def near_miss(run: Run) -> None:
    _monitored(run, "val_loss")


def test_the_nearest_metric_is_suggested(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"callback": "EarlyStopping", "monitor": "val_los", "never_acts": True}
    assert facts(first)["metrics.are"] == {"metrics": ["loss", "val_loss"]}
    assert first.remedies[0].values == {"callback": "EarlyStopping", "metric": "val_loss"}


def _best_only(run: Run, loaded: str) -> None:
    settings = {"monitor": "val_auc", "save_best_only": True, "filepath": "out/fold-{epoch:02d}.h5"}
    run.fit(epochs=2, callbacks=[{"class": "ModelCheckpoint", "settings": settings}])
    run.epochs([100, 100])
    run.raised("FileNotFoundError", f"[Errno 2] No such file or directory: '{loaded}'", paths=[loaded])


def test_a_file_that_was_to_be_written_when_the_metric_improves(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _best_only(run, "/home/me/out/fold-02.h5")
    assert run.slugs()[:2] == ["monitor-missing", "path-missing"]
    assert run.first().led_to == "path-missing"
    written = facts(run.verdict().findings[1])["checkpoint.never-written"]
    assert (written["callback"], written["monitor"], written["epochs"]) == ("ModelCheckpoint", "val_auc", 2)


def test_another_file_that_is_missing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _best_only(run, "/home/me/data/fold-02.csv")
    assert run.first().cause == "path-missing"
    assert "checkpoint.never-written" not in facts(run.first())


def _own_saver(run: Run, loaded: str, **settings: str) -> None:
    own = {"class": "KeepBest", "module": "__main__", "settings": {"monitor": "val_acc", **settings}}
    run.fit(epochs=2, callbacks=[own])
    run.epochs([100, 100])
    message = f"[Errno 2] No such file or directory: '{loaded}'"
    run.raised("FileNotFoundError", message, paths=[loaded], errno=2)


def test_a_callback_of_the_users_own_that_was_to_write_the_file(tmp_path: Path) -> None:
    """It looks for its metric in the logs, finds none, and says nothing."""
    for number, settings in enumerate(({}, {"filepath": "out/best.weights.h5"})):
        run = Run(tmp_path / f"run-{number}")
        _own_saver(run, "out/best.weights.h5", **settings)
        assert run.slugs()[:2] == ["monitor-missing", "path-missing"]
        assert run.first().title.values["callback"] == "KeepBest"


def test_a_file_that_another_program_was_to_write(tmp_path: Path) -> None:
    for number, loaded in enumerate(("data/labels.csv", "teacher.h5")):
        run = Run(tmp_path / f"run-{number}")
        _own_saver(run, loaded, filepath="out/best.weights.h5")
        assert run.slugs() == ["path-missing"]


def _broken_off(run: Run, error: tuple[str, str], code: str, monitor: str = "val_auc") -> None:
    stopping = {"class": "EarlyStopping", "settings": {"monitor": monitor, "patience": 3}}
    run.fit(epochs=2, callbacks=[stopping])
    run.epochs([100, 100])
    run.raised(*error, user_line="train.py:53", user_code=code)


_NO_FORMAT = ("TypeError", "unsupported format string passed to NoneType.__format__")


def test_the_best_value_of_a_callback_that_never_saw_one(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _broken_off(run, _NO_FORMAT, 'print(f"best {stop.best:.4f}")')
    assert [(one.cause, one.led_to) for one in run.verdict().findings] == [
        ("monitor-missing", "script-error"),
        ("script-error", None),
    ]
    assert facts(run.first())["callback.unset"] == {"monitor": "val_auc", "attribute": "best"}


def test_a_none_that_the_callback_held_under_another_name(tmp_path: Path) -> None:
    for number, (monitor, first) in enumerate((("val_auc", "monitor-missing"), ("val_pr", "script-error"))):
        run = Run(tmp_path / f"run-{number}")
        run.probe(ev.AtHandSeen(unset=[{"monitor": monitor, "attribute": "best"}]))
        _broken_off(run, _NO_FORMAT, 'print(f"best {value:.4f}")')
        assert run.slugs() == sorted(["monitor-missing", "script-error"], key=lambda slug: slug != first)


def test_another_error_is_no_consequence(tmp_path: Path) -> None:
    cases = [
        (_NO_FORMAT, 'print(f"best {threshold:.4f}")'),
        (("ValueError", "bad scores"), 'print(f"best {stop.best:.4f}")'),
        (("KeyError", "'accuracy'"), 'history.history["accuracy"]'),
    ]
    for number, (error, code) in enumerate(cases):
        run = Run(tmp_path / f"run-{number}")
        _broken_off(run, error, code)
        assert run.slugs() == ["script-error", "monitor-missing"]


def test_the_same_metric_in_the_history(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _broken_off(run, ("KeyError", "'val_auc'"), 'max(history.history["val_auc"])')
    assert run.slugs() == ["monitor-missing", "script-error"]


def test_a_none_where_the_metric_is_there(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _broken_off(run, _NO_FORMAT, 'print(f"best {stop.best:.4f}")', monitor="loss")
    assert run.slugs() == ["script-error"]
