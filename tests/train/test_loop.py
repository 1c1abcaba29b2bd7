"""The loop around a real step: exact resume, memory, divergence, early stopping, disks and signals."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from keras import ops

from holdfast.errors import HoldfastError
from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.report.text import render_error
from holdfast.step.network import Network
from holdfast.step.optimizer import OptimizerConfig
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.intervals import Interval
from holdfast.train.loop import TrainingPlan
from holdfast.train.observers.progress_display import ProgressDisplay
from holdfast.train.save_on_signal import SaveOnSignal
from tests.train import tiny
from tests.train.tiny_run import PLAN, Tiny
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.hot

SHORT = replace(PLAN, steps=24, schedule=replace(PLAN.schedule, steps=24))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    made = Tiny(tmp_path_factory.mktemp("whole"), SHORT)
    assert made.run() == "finished"
    return made


def test_a_run_tells_its_story_in_order(whole: Tiny) -> None:
    assert whole.batches_seen == list(range(24))
    told = [type(one.event) for one in reader.read(whole.folder.journal)]
    assert told[:2] == [ev.FitStarted, ev.EpochStarted]
    assert told.index(ev.FitDone) > told.index(ev.ValidationDone) > told.index(ev.LossSeen)
    done = whole.heard.of(ev.FitDone)[0]
    assert (done.steps, done.stopped, done.epochs_done) == (24, False, 1)
    assert [one.epoch for one in whole.heard.of(ev.ValidationDone)] == [3, 7, 9]
    assert len(whole.heard.of(ev.WeightsHashed)) == 1
    assert checkpoint_files.committed(whole.folder.checkpoints)[-1].name == "step-24"
    assert whole.loop.step.traces() == 1


def test_a_training_of_seconds_has_a_course(whole: Tiny) -> None:
    single = [one.step for one in whole.heard.of(ev.LossSeen) if one.gradient_norm is not None]
    assert single == list(range(1, 25))  # of a longer one at least every fiftieth


def stop_after(steps: int) -> tuple[Callable[[], str], list[Tiny]]:
    holder: list[Tiny] = []
    return lambda: "SIGTERM" if holder and holder[0].loop.state.step >= steps else "", holder


@pytest.mark.parametrize("at", [0, 1, 9, 10, 23])
def test_stopped_anywhere_and_resumed_it_ends_with_the_same_bits(
    at: int, whole: Tiny, tmp_path: Path
) -> None:
    asked, holder = stop_after(at)
    first = Tiny(tmp_path / "run", SHORT, stop_signal=asked)
    holder.append(first)
    assert first.run() == "SIGTERM"
    assert first.heard.of(ev.StopRequested)[0].step == at
    second = Tiny(tmp_path / "run", SHORT, again=True)
    assert second.loop.state.step == at
    assert second.run() == "finished"
    assert first.batches_seen + second.batches_seen == whole.batches_seen
    assert second.digest() == whole.digest()


def test_asked_to_stop_during_validation_it_validates_after_the_resume(whole: Tiny, tmp_path: Path) -> None:
    asked: list[str] = []

    def interrupted(stop_signal: Callable[[], bool]) -> None:
        asked.append("SIGTERM")
        assert stop_signal()

    first = Tiny(tmp_path / "run", SHORT, stop_signal=lambda: asked[0] if asked else "", validate=interrupted)
    assert first.run() == "SIGTERM"
    assert (first.loop.state.step, first.loop.state.validated_at) == (10, 0)
    second = Tiny(tmp_path / "run", SHORT, again=True)
    assert second.run() == "finished"
    assert len(second.heard.of(ev.ValidationDone)) == 3
    assert second.digest() == whole.digest()


def test_asked_to_stop_during_the_last_validation_it_is_not_finished_yet(whole: Tiny, tmp_path: Path) -> None:
    asked: list[str] = []

    def interrupted_at_the_end(stop_signal: Callable[[], bool]) -> dict[str, float] | None:
        if first.loop.state.step == SHORT.steps:
            asked.append("SIGTERM")
        return None if stop_signal() else first._validate(stop_signal)

    first = Tiny(
        tmp_path / "run",
        SHORT,
        stop_signal=lambda: asked[0] if asked else "",
        validate=interrupted_at_the_end,
    )
    assert first.run() == "SIGTERM"
    assert (first.loop.state.step, first.loop.state.validated_at) == (24, 20)
    second = Tiny(tmp_path / "run", SHORT, again=True)
    assert second.run() == "finished"
    assert second.digest() == whole.digest()
    third = Tiny(tmp_path / "run", SHORT, again=True)
    assert third.run() == "finished"
    assert [len(one.heard.of(ev.ValidationDone)) for one in (second, third)] == [1, 0]


def test_validation_images_without_boxes_make_no_checkpoint_the_best(tmp_path: Path) -> None:
    made = Tiny(tmp_path, replace(SHORT, patience=1), validate=lambda stop_signal: {"AP": -1.0})
    assert made.run() == "finished"
    assert made.loop.state.patience.best_step is None
    assert checkpoint_files.read_pointer(made.folder.checkpoints, checkpoint_files.BEST) is None
    said = [note.text for note in made.heard.of(ev.Note) if "AP" in note.text]
    (words,) = said
    assert words == ("AP is not defined: the validation images have no boxes, so there is no best checkpoint")


def test_saved_by_another_thread_while_waiting_for_data_it_resumes_exactly(
    whole: Tiny, tmp_path: Path
) -> None:
    waits, ends = threading.Event(), threading.Event()

    def stuck_at_9(number: int) -> dict[str, Any]:
        if number == 9:
            waits.set()
            ends.wait(PATIENCE_S)
            raise OSError(5, "the process would have ended here")
        return tiny.batch(number)

    codes: list[int] = []
    first, on_signal = Tiny(tmp_path, SHORT, batch=stuck_at_9), SaveOnSignal(exit_process=codes.append)
    first.loop.effects = replace(first.loop.effects, while_waiting=on_signal.waiting)

    def save(name: str, left_s: float) -> int:
        first.loop.end_now(name)
        return 143 if first.saver.flush(left_s) else 1

    def train() -> None:
        with contextlib.suppress(OSError):
            first.run()

    trainer = threading.Thread(target=train)
    trainer.start()
    assert waits.wait(PATIENCE_S)
    on_signal._save("SIGTERM", save, remaining_s=PATIENCE_S)
    assert codes == [143]
    assert first.heard.of(ev.StopRequested)[0].step == 9
    on_signal._consistent.release()
    ends.set()
    trainer.join()
    second = Tiny(tmp_path, SHORT, again=True)
    assert second.loop.state.step == 9
    assert second.run() == "finished"
    assert second.digest() == whole.digest()


def test_a_corrupt_newest_checkpoint_is_named_and_the_one_before_taken(whole: Tiny, tmp_path: Path) -> None:
    asked, holder = stop_after(20)
    first = Tiny(tmp_path / "run", SHORT, stop_signal=asked)
    holder.append(first)
    first.run()
    newest = first.folder.checkpoints / "step-20"
    (newest / "weights.npz").write_bytes((newest / "weights.npz").read_bytes()[:-50])
    second = Tiny(tmp_path / "run", SHORT, again=True)
    (rejected,) = second.heard.of(ev.CheckpointRejected)
    assert rejected.path.endswith("step-20")
    assert rejected.why == "weights.npz has another checksum than when it was written"
    assert second.run() == "finished"
    assert second.digest() == whole.digest()


def short_of_memory(limit: int) -> Network:
    """Asks the real allocator for 4 TiB when more than `limit` images come at once."""
    net = tiny.network(dropout=True)

    def losses(batch: Any) -> Any:
        parts = net.losses(batch)
        if batch["images"].shape[0] > limit:
            huge = ops.broadcast_to(ops.cast(batch["images"][0, 0, 0, 0], "float32"), (2**20, 2**20))
            parts["box"] = parts["box"] + ops.sum(ops.cumsum(huge, axis=0))
        return parts

    return Network(net.model, losses, frozen_prefixes=net.frozen_prefixes)


@pytest.mark.proof  # TensorFlow has been seen to hang for ever in a refused allocation
def test_out_of_memory_is_undone_and_goes_on_with_smaller_micro_batches(tmp_path: Path) -> None:
    made = Tiny(tmp_path / "short", SHORT, network=short_of_memory(2))
    assert made.run() == "finished"
    reduced = [one for one in made.heard.of(ev.MicroBatchSet) if one.reason == "out-of-memory"]
    assert [(one.was, one.micro_batch, one.batch) for one in reduced] == [(8, 4, 8), (4, 2, 8)]
    plain = Tiny(tmp_path / "plain", SHORT, micro=2)
    plain.run()
    assert made.digest() == plain.digest()
    assert made.batches_seen == plain.batches_seen


@pytest.mark.proof  # TensorFlow has been seen to hang for ever in a refused allocation
def test_nothing_smaller_is_an_answer_and_not_a_loop(tmp_path: Path) -> None:
    made = Tiny(tmp_path, SHORT, network=short_of_memory(0))
    with pytest.raises(HoldfastError, match="a micro-batch of one image does not fit") as caught:
        made.run()
    assert caught.value.slug == "device-memory-exhausted"
    assert made.heard.of(ev.FitDone)[0].raised == "OutOfMemory"


def poisoned_at(bad: set[int]) -> Callable[[int], dict[str, Any]]:
    def batch(number: int) -> dict[str, Any]:
        made = tiny.batch(number)
        if number in bad:
            made["boxes"][3, 0] = np.nan
            made["real"][3, 0] = True
        return made

    return batch


def test_not_finite_stops_before_the_step_with_all_that_is_known(
    tmp_path: Path, stored: Callable[[str, str], None]
) -> None:
    made = Tiny(tmp_path, SHORT, batch=poisoned_at({12}))
    with pytest.raises(HoldfastError) as caught:
        made.run()
    assert caught.value.exit_code == 1
    seen = made.heard.of(ev.NonFiniteSeen)[0]
    assert (seen.step, seen.what, seen.name, seen.value) == (12, "loss-part", "the box loss", "nan")
    assert seen.detail["images"] == [f"{number}.jpg" for number in range(8)]
    assert seen.last_finite is not None
    assert set(seen.detail["parts"]) == {"box", "class"}
    text = render_error(caught.value)
    stored("train/loss-not-finite", _without_numbers(text))
    found, _ = checkpoint_files.newest_complete(made.folder.checkpoints)
    assert found is not None
    assert found.step == 12
    before = Tiny(tmp_path / "to-12", replace(SHORT, steps=12))
    before.run()
    assert checkpoint_files.digest_of(before.loop.step.export()) == checkpoint_files.digest_of(found.groups)


def _without_numbers(text: str) -> str:
    import re

    return re.sub(r"\b\d+\.\d+(e[+-]\d+)?\b|\bnan\b", "#", text)


def test_skipping_goes_on_to_the_limit(tmp_path: Path) -> None:
    plan = replace(SHORT, on_nonfinite="skip", nonfinite_limit=2)
    config = OptimizerConfig(tolerated=2)
    made = Tiny(tmp_path / "two", plan, batch=poisoned_at({5, 12}), config=config)
    assert made.run() == "finished"
    assert made.loop.state.skipped == 2
    assert int(made.loop.step.export()["optimizer"]["count"]) == 22
    three = Tiny(tmp_path / "three", plan, batch=poisoned_at({5, 12, 15}), config=config)
    with pytest.raises(HoldfastError, match="step 15"):
        three.run()


def test_rolling_back_lowers_the_rate_and_gives_up_at_the_limit(tmp_path: Path) -> None:
    plan = replace(SHORT, on_nonfinite="rollback", nonfinite_limit=2)
    once: list[int] = []

    def flaky(number: int) -> dict[str, Any]:
        once.append(number)
        return poisoned_at({16} if once.count(16) < 2 else set())(number)

    made = Tiny(tmp_path / "once", plan, batch=flaky)
    assert made.run() == "finished"
    assert (made.loop.state.rollbacks, made.loop.state.rate_scale) == (1, 0.5)
    assert [one.step for one in made.heard.of(ev.RolledBack)] == [14]
    always = Tiny(tmp_path / "always", plan, batch=poisoned_at({16}))
    with pytest.raises(HoldfastError, match="step 16"):
        always.run()
    assert always.loop.state.rollbacks == 2


def test_an_error_at_a_steps_numbers_saves_the_step_that_stands(tmp_path: Path) -> None:
    """Two steps may be under way by then; under the later one's number a checkpoint would lose their updates."""
    made = Tiny(tmp_path, SHORT, micro=1)
    fetch = made.loop.step.fetch

    def failing(result: Any) -> Any:
        if made.loop.state.step >= 17:
            raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 123 bytes")
        return fetch(result)

    made.loop.step.fetch = failing  # type: ignore[method-assign]
    with pytest.raises((HoldfastError, RuntimeError)):
        made.run()
    found, _ = checkpoint_files.newest_complete(made.folder.checkpoints)
    assert found is not None
    assert 15 <= found.step <= 17
    assert found.step == found.meta["progress"]["step"] == int(found.groups["optimizer"]["count"])


def test_early_stopping_is_a_reason_and_not_silence(tmp_path: Path) -> None:
    values = iter([0.1, 0.5, 0.4, 0.45, 0.9])
    plan = replace(PLAN, patience=2)
    made = Tiny(tmp_path, plan, validate=lambda stop_signal: {"AP": next(values)})
    assert made.run() == "early-stopping"
    assert made.loop.state.step == 40
    asked = made.heard.of(ev.StopRequested)[0]
    assert (asked.by, asked.settings["best"], asked.settings["best_step"], asked.settings["waited"]) == (
        "early-stopping", 0.5, 20, 2,
    )  # fmt: skip
    assert (
        checkpoint_files.read_pointer(made.folder.checkpoints, checkpoint_files.BEST)
        == made.folder.checkpoints / "step-20"
    )
    assert made.heard.of(ev.FitDone)[0].stopped


def test_a_disk_that_refuses_stops_nothing_and_loses_nothing(whole: Tiny, tmp_path: Path) -> None:
    made = Tiny(tmp_path, SHORT)
    made.folder.checkpoints.write_text("in the way")
    made.saver._retry_after_s = 0.0
    freed: list[int] = []

    def free_at_20(number: int) -> dict[str, Any]:
        if number == 20:
            until(lambda: made.heard.of(ev.SaveFailed), "a save that is refused")
            made.folder.checkpoints.unlink()
            freed.append(number)
        return tiny.batch(number)

    made.drawn = free_at_20
    assert made.run() == "finished"
    assert freed
    assert made.heard.of(ev.SaveFailed)
    assert made.heard.of(ev.SaveDone)[-1].step == 24
    assert made.digest() == whole.digest()


def test_an_error_in_the_data_keeps_what_was_trained(whole: Tiny, tmp_path: Path) -> None:
    def broken(number: int) -> dict[str, Any]:
        if number == 18:
            raise OSError(5, "Input/output error", "0018.jpg")
        return tiny.batch(number)

    first = Tiny(tmp_path, SHORT, batch=broken)
    with pytest.raises(OSError, match="0018"):
        first.run()
    assert first.heard.of(ev.SaveDone)[-1].step == 18
    second = Tiny(tmp_path, SHORT, again=True)
    second.run()
    assert second.digest() == whole.digest()


def test_checkpoints_by_time_do_not_change_the_result(whole: Tiny, tmp_path: Path) -> None:
    plan: TrainingPlan = replace(SHORT, checkpoint=Interval(seconds=0.0))
    made = Tiny(tmp_path, plan)
    made.run()
    assert made.digest() == whole.digest()


@pytest.mark.parametrize(("resumed_at", "printed"), [(0, {"2.0"}), (1, {"2.0"}), (7, set())])
def test_the_printed_speed_is_that_of_the_steps(resumed_at: int, printed: set[str], tmp_path: Path) -> None:
    """A step of eight images takes four seconds of this clock. Its result is collected after the next step; that of
    the last step before a validation, or of the run, at once, which once printed 3309 images/s."""
    plan = replace(SHORT, steps=9, validate=Interval(steps=3), schedule=replace(SHORT.schedule, steps=9))
    if resumed_at:
        asked, holder = stop_after(resumed_at)
        holder.append(Tiny(tmp_path / "run", plan, stop_signal=asked))
        assert holder[0].run() == "SIGTERM"
    now, out = [0.0], io.StringIO()

    def clock() -> float:
        now[0] += 0.001
        return now[0]

    def after_four_seconds(number: int) -> dict[str, Any]:
        now[0] += 4.0
        return tiny.batch(number)

    made = Tiny(
        tmp_path / "run", plan, again=bool(resumed_at), batch=after_four_seconds,
        display=lambda heartbeat: [
            ProgressDisplay(9, 8, out=out, clock=clock, memory=lambda: (), in_step=heartbeat.in_step)
        ],
    )  # fmt: skip
    assert made.run() == "finished"
    assert "step 9/9" in out.getvalue()
    assert set(re.findall(r"(\S+) images/s", out.getvalue())) == printed
