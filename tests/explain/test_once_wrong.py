"""Runs of people's scripts that were once judged wrong, told again by hand."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength, Verdict
from holdfast.explain.readings.error import read_fatal
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame
from holdfast.report.verdict import render
from tests.explain.made import MIB, Run, code_of, do_of, python_thread, sentence, title_of, user


def _first(verdict: Verdict) -> tuple[str, Strength]:
    return verdict.findings[0].cause, verdict.findings[0].strength


def _facts(verdict: Verdict) -> str:
    return "\n".join(sentence(fact) for fact in verdict.findings[0].because)


def _weights_broke_behind_a_relu(
    path: Path, *, input_finite: bool | None, parts: list[dict[str, object]]
) -> Verdict:
    """A ReLU makes 0 of NaN: the weights broke, and the loss stayed a number to the end."""
    run = Run(path)
    run.fit()
    run.epochs([100, 100, 100], [63.9, 65.3, 64.8])
    run.probe(
        ev.NonFiniteSeen(
            what="weights", name="dense/kernel", step=100, value="nan", last_finite=64.8, recent=[64.0, 65.0, 64.8],
            weights_finite=False, input_finite=input_finite, precision="float32", detail={"seen": "later"},
        )
    )  # fmt: skip
    if parts:
        run.probe(ev.BatchSeen(step=2, parts=parts))
    run.ended(0)
    return run.verdict()


def test_a_nan_in_the_data_is_told_though_the_loss_stayed_a_number(tmp_path: Path) -> None:
    part = {
        "path": "part 0", "finite": False, "row": 44, "sample": 300, "value": "nan", "found": "afterwards",
    }  # fmt: skip
    verdict = _weights_broke_behind_a_relu(tmp_path / "run", input_finite=False, parts=[part])
    assert _first(verdict) == ("input-not-finite", Strength.ESTABLISHED)
    assert "sample 300 holds nan in part 0" in _facts(verdict)
    assert "the loss still showed 64.8: a ReLU makes 0 of NaN" in _facts(verdict)


def test_no_remedy_is_joined_by_a_doubled_or(tmp_path: Path) -> None:
    from holdfast.explain.causes import CAUSES
    from tests.explain.test_causes import ALIVE, told

    for cause in CAUSES:
        if cause.slug in ALIVE:
            continue
        text = render(told(cause.slug, tmp_path / cause.slug))
        assert "  or      or " not in text, text


def test_a_table_that_reaches_65_is_not_taken_for_pixels(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    values = {"min": -60.2, "max": 65.1, "finite": True}
    run.fit(steps=20, data=ev.DatasetSeen(type="array", cardinality=20, statistics={"x": values},
                                element_spec=[[[None, 12], "float32"]]))  # fmt: skip
    run.probe(
        ev.ModelSeen(parameters=600, trainable_parameters=600, layer_kinds={"Dense": 2}),
        ev.NonFiniteSeen(
            what="loss", name="loss", step=1, value="nan", input_finite=True, precision="float32"
        ),
    )
    run.epochs([20, 20, 20], [float("nan")] * 3)
    run.ended(0)
    verdict = run.verdict()
    assert _first(verdict) == ("loss-not-finite", Strength.SUPPORTED)
    assert "it was the first step: what a fresh model predicts has no finite loss" in _facts(verdict)
    assert "pixels" not in render(verdict)


def test_an_empty_validation_is_the_root_of_a_metric_that_is_missing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    callback = {"class": "EarlyStopping", "settings": {"monitor": "val_loss", "patience": 1}}
    run.fit(validation=True, callbacks=[callback])
    run.probe(ev.DatasetSeen(role="validation", type="tf.data", cardinality=0, where="train.py:30"))
    run.probe(*(ev.ValidationDone(fit=1, epoch=epoch, batches=0) for epoch in range(3)))
    run.epochs([100, 100, 100])
    run.ended(0)
    verdict = run.verdict()
    assert [one.cause for one in verdict.findings] == ["dataset-empty", "monitor-missing"]
    assert (
        title_of(verdict.findings[0])
        == "the validation dataset (train.py:30) is empty: there are no val_ metrics"
    )
    assert verdict.findings[0].led_to == "monitor-missing"


def test_an_optimizer_that_is_given_no_gradient_at_all_has_nothing_to_train(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    frames = ["train.py:11 <module>", "keras/src/optimizers/base_optimizer.py:463 apply_gradients"]
    run.raised(
        "ValueError",
        "not enough values to unpack (expected 2, got 0)",
        user_line="train.py:11",
        frames=frames,
    )
    assert _first(run.verdict()) == ("nothing-trainable", Strength.ESTABLISHED)
    other = Run(tmp_path / "other")
    other.raised("ValueError", "not enough values to unpack (expected 2, got 0)", user_line="train.py:11")
    assert _first(other.verdict()) == ("script-error", Strength.ESTABLISHED)


def _binary(path: Path, *, top: float, losses: list[float]) -> Verdict:
    run = Run(path)
    values = {"x": {"min": -3.0, "max": 3.0, "finite": True}, "y": {"min": 0.0, "max": top, "finite": True}}
    run.fit(data=ev.DatasetSeen(type="array", cardinality=100, statistics=values))
    run.probe(ev.ModelSeen(parameters=300, trainable_parameters=300, loss="binary_crossentropy"))
    run.probe(*(ev.LossSeen(step=100 * at + 1, logs={"loss": loss}) for at, loss in enumerate(losses)))
    run.epochs([100] * 3, losses)
    run.ended(0)
    return run.verdict()


def test_class_ids_given_to_a_binary_loss_are_known_by_a_negative_loss(tmp_path: Path) -> None:
    verdict = _binary(tmp_path / "a", top=9.0, losses=[0.05, -1.1, -68.5])
    assert _first(verdict) == ("class-id-out-of-range", Strength.ESTABLISHED)
    assert "the targets reach from 0 to 9" in _facts(verdict)
    assert not _binary(tmp_path / "b", top=1.0, losses=[0.6, 0.4, 0.3]).findings
    assert not _binary(tmp_path / "c", top=9.0, losses=[0.6, 0.4, 0.3]).findings


def test_a_run_of_our_own_trainer_is_told_how_to_go_on_with_it(tmp_path: Path) -> None:
    from holdfast.explain.unconverted import going_on

    class Opened:
        def __init__(self, watch: str, saved: int | None = None) -> None:
            self.opened = type("Recorded", (), {"event": ev.RunOpened(watch=watch)})
            self.saved = saved

    found = going_on(Opened("train", 1200), first="make room, then ")  # type: ignore[arg-type]
    assert found is not None
    assert (do_of(found), code_of(found)) == (
        "make room, then resume from step 1,200, which is saved", "holdfast train --resume --run-dir RUN"
    )  # fmt: skip
    found = going_on(Opened("train"), first="make room, then ")  # type: ignore[arg-type]
    assert found is not None and do_of(found) == "make room, then start again: no step was saved"
    assert going_on(Opened("run")) is None  # type: ignore[arg-type]


def test_pixels_that_made_the_loss_explode_and_lie_flat_are_told(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    values = {"x": {"min": 0.0, "max": 187.0, "finite": True}}
    run.fit(epochs=5, data=ev.DatasetSeen(type="tf.data", cardinality=100, statistics=values,
                                          element_spec=[[[None, 32, 32, 3], "float32"]]))  # fmt: skip
    run.probe(ev.ModelSeen(parameters=400, trainable_parameters=400, layer_kinds={"Conv2D": 2, "Dense": 2}))
    run.epochs([100] * 5, [441679808.0, 0.6927, 0.6918, 0.6916, 0.6914])
    run.ended(0)
    verdict = run.verdict()
    assert _first(verdict) == ("input-scale-mismatch", Strength.SUPPORTED)
    assert "inputs go up to 187, as pixels do that were not scaled" in _facts(verdict)


def _waits(path: Path, waited_s: list[float]) -> Verdict:
    """One sample a second: 10 steps each, of which the given seconds were waited in all so far."""
    run = Run(path)
    run.fit(steps=10 * len(waited_s), epochs=1)
    run.samples(
        len(waited_s), rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: 10 * (n + 1),
        data_wait_s=lambda n: waited_s[n], compute_s=lambda n: (n + 1) * 0.05,
    )  # fmt: skip
    run.epochs([10 * len(waited_s)])
    run.ended(0)
    return run.verdict()


def test_two_pauses_of_the_data_are_no_starving(tmp_path: Path) -> None:
    paused = [0.01 * n + (9.0 if n >= 20 else 0.0) + (9.0 if n >= 50 else 0.0) for n in range(80)]
    assert "input-starved" not in [one.cause for one in _waits(tmp_path / "a", paused).findings]
    starved = [0.9 * (n + 1) for n in range(80)]
    assert _first(_waits(tmp_path / "b", starved)) == ("input-starved", Strength.SUPPORTED)


def test_a_loss_that_grows_a_hundredfold_may_be_meant(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    for step in range(1, 11):
        run.probe(ev.LossSeen(step=step, logs={"loss": 0.01 * step**2}, learning_rate=0.5))
    run.ended(0)
    assert not [one for one in run.verdict().findings if one.strength >= Strength.SUPPORTED]


def test_a_loss_that_begins_next_to_nothing_may_become_an_ordinary_one(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    for step in range(1, 11):
        run.probe(ev.LossSeen(step=step, logs={"loss": 1e-5 if step < 4 else 2.3}, learning_rate=0.5))
    run.ended(0)
    assert not [one for one in run.verdict().findings if one.strength >= Strength.SUPPORTED]


def test_a_generator_that_waits_below_fit_on_jax_is_named_though_a_library_told_of_something_before(
    tmp_path: Path,
) -> None:
    """On JAX Keras asks the generator within the step; jax tells of a missing cuDNN with a traceback."""
    run = Run(tmp_path / "run")
    run.output(
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.11/site-packages/jax_plugins/xla_cuda13/__init__.py", line 205, in _version_check\n'
        "    raise RuntimeError(err_msg) from e\n"
        "RuntimeError: Unable to load cuDNN. Is it installed?\n"
        "Epoch 1/2\n"
    )
    run.fit()
    frames = [
        Frame("/usr/lib/python3.11/threading.py", 629, "Event.wait"),
        user(7, "gen"),
        Frame("/v/lib/python3.11/site-packages/keras/src/backend/jax/trainer.py", 462, "JAXTrainer.fit"),
        user(10, "<module>"),
    ]
    run.stalled("step", python_thread(4000, *frames, main=True, syscall="futex for ever"))
    run.stopped()
    verdict = run.verdict()
    assert [one.cause for one in verdict.findings] == ["input-blocked"]
    assert (
        title_of(verdict.findings[0])
        == "the next batch never comes: a reader waits for ever at /home/me/train.py:7"
    )


def test_pixels_that_blew_a_loop_up_in_its_first_steps_are_told_though_the_loss_fell_since(
    tmp_path: Path,
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.ModelSeen(name="net", layer_kinds={"Conv2D": 2, "Dense": 2}, parameters=400))
    run.probe(
        ev.BatchSeen(role="train", step=1, parts=[{"shape": [16, 32, 32, 3], "min": 0.0, "max": 187.0}])
    )
    for step, loss in enumerate(
        [25.2, 2.7e7, 2.1e13, 1.4e23, *([0.674, 0.713, 0.688, 0.701, 0.69] * 5)], start=1
    ):
        run.probe(ev.LossSeen(step=step, epoch=0, logs={"loss": loss}, step_loss=loss))
    run.ended(0)
    assert _first(run.verdict()) == ("input-scale-mismatch", Strength.SUPPORTED)


def _loop(path: Path, losses: list[float]) -> Verdict:
    run = Run(path / "run")
    for number, loss in enumerate(losses):
        run.probe(ev.LossSeen(step=1 + 50 * number, epoch=0, logs={"loss": loss}, step_loss=loss))
    run.ended(0)
    return run.verdict()


def test_losses_that_merely_scatter_blame_nobody(tmp_path: Path) -> None:
    assert _loop(tmp_path, [1.0 + (n * 37 % 11) / 20 + n * 1e-7 for n in range(20)]).findings == ()


def test_a_crash_in_the_garbage_collector_keeps_its_stack() -> None:
    told = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
        '  Garbage-collecting\n  File "/v/tensorflow/execute.py", line 53 in quick_execute\n'
        '  File "/home/me/train.py", line 15 in <module>\n'
    ).replace("/v/", "/v/site-packages/")
    found = read_fatal(told, source="stacks/faulthandler-1.txt")
    assert found is not None
    assert (found.inside, found.where) == (
        "/v/site-packages/tensorflow/execute.py:53 in quick_execute",
        "/home/me/train.py:15 in <module>",
    )


def test_channels_in_the_words_of_xla(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    message = (
        "Graph execution error:\n\nDetected at node convolution defined at (most recent call last):\n"
        "<stack traces unavailable>\nDepth of input must be a multiple of depth of filter: 1 vs 3\n"
    )
    run.probe(
        ev.ExceptionRaised(type="InvalidArgumentError", message=message, left="fit", user_line="train.py:28")
    )
    run.ended(1)
    verdict = run.verdict()
    assert _first(verdict) == ("wrong-channels", Strength.ESTABLISHED)
    assert title_of(verdict.findings[0]) == "3 channels were wanted and 1 given"


def test_a_trainer_that_is_interrupted_before_its_first_step_had_data(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=1, steps=400)
    run.supervisor(ev.SignalReceived(signal="SIGINT"))
    run.probe(ev.StopRequested(by="SIGINT", step=0), ev.EpochDone(steps=0, planned_steps=400))
    run.probe(ev.FitDone(steps=0, epochs=1, epochs_done=0, stopped=True, steps_by_epoch=[0]))
    run.ended(130, stopped_by_us="interrupt")
    assert [one.cause for one in run.verdict().findings] == ["terminal-signal"]


def test_a_run_that_goes_on_from_its_step_0_has_lost_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ended(130, stopped_by_us="interrupt")
    run._supervisor.attempt = run._probe.attempt = 2
    run.supervisor(ev.AttemptStarted(command=["python"], pid=4001))
    run.probe(ev.Restored(path="checkpoints/step-0", by="trainer", iterations=0, optimizer_restored=True))
    run.fit(epochs=1, steps=3, iterations=0)
    run.epochs([3], [8.3])
    run.ended(0)
    assert "resume-lost-state" not in [one.cause for one in run.verdict().findings]
