"""Going on from a checkpoint whose recipe or data has changed since, and what a kill left behind."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdfast.journal.folder import RunFolder
from holdfast.step.step_protocol import adapt_state
from holdfast.train import components
from holdfast.train.__main__ import EXIT_CODES, StopSignal
from holdfast.train.checkpoint import checkpoint_files, resume
from holdfast.train.checkpoint.async_writer import AsyncCheckpointWriter
from holdfast.train.checkpoint.checkpoint_files import BEST, Snapshot
from holdfast.train.checkpoint.resume import CannotResume

pytestmark = pytest.mark.hot

SPEC = {"classes": ["cat", "dog"], "anchors": None, "normalization": "frozen-batch", "precision": "float32"}
RECIPE = {"train.ema": 0.99, "train.precision": "float32"}


def groups(**more: Any) -> dict[str, dict[str, Any]]:
    optimizer = {
        "first/head": np.zeros(2, np.float32), "scale": np.float32(4096.0), "good": np.int32(7),
        "unapplied": np.int32(4),
    }  # fmt: skip
    weights = {"head": np.ones(2, np.float32), "statistics": np.full(2, 3, np.float32)}
    return {"weights": weights, "optimizer": optimizer, **more}


def test_a_renamed_class_is_not_taken_for_the_one_that_its_head_learnt() -> None:
    with pytest.raises(CannotResume) as refused:
        resume.check_spec(SPEC, SPEC | {"classes": ["ant", "cat"]}, where="recipe.toml", accepted=True)
    assert refused.value.found == ("then cat, dog", "now ant, cat")
    resume.check_spec(SPEC, SPEC | {"precision": "float16"}, where="recipe.toml")


def test_anchors_that_were_fitted_to_other_boxes_are_refused_unless_told() -> None:
    other = SPEC | {"anchors": [[[1.0, 2.0]]]}
    with pytest.raises(CannotResume, match="fits others"):
        resume.check_spec(SPEC, other, where="recipe.toml")
    resume.check_spec(SPEC, other, where="recipe.toml", accepted=True)


def test_an_average_that_is_begun_starts_at_the_weights_and_one_given_up_is_gone() -> None:
    begun = adapt_state(groups(), RECIPE | {"train.ema": 0.0}, RECIPE, unapplied=0)
    assert list(begun["ema"]) == ["head"]
    np.testing.assert_array_equal(begun["ema"]["head"], [1, 1])
    average = {"ema": {"head": np.full(2, 5, np.float32)}}
    kept = adapt_state(groups(**average), RECIPE, RECIPE, unapplied=0)
    np.testing.assert_array_equal(kept["ema"]["head"], [5, 5])
    assert "ema" not in adapt_state(groups(**average), RECIPE, RECIPE | {"train.ema": 0.0}, unapplied=0)


@pytest.mark.parametrize(
    "before, now, scale, good",
    [("float16", "float16", 4096, 7), ("float16", "float32", 1, 0), ("bfloat16", "float16", 2**15, 0)],
)
def test_the_loss_scale_is_that_of_the_precision(before: str, now: str, scale: int, good: int) -> None:
    made = adapt_state(
        groups(), RECIPE | {"train.precision": before}, RECIPE | {"train.precision": now}, unapplied=2
    )
    state = made["optimizer"]
    assert (state["scale"], state["good"], state["unapplied"]) == (scale, good, 2)
    assert [state[name].dtype for name in ("scale", "good", "unapplied")] == [np.float32, np.int32, np.int32]


def snapshot(step: int) -> Snapshot:
    return Snapshot(step, {"weights": {"w": np.full(3, step, np.float32)}}, {"step": step})


def test_a_kill_before_the_note_of_the_best_is_made_good(tmp_path: Path) -> None:
    for step in (2, 5):
        checkpoint_files.write(tmp_path, snapshot(step))
    checkpoint_files.set_pointer(tmp_path, BEST, "step-2")
    checkpoint_files.restore_pointer(tmp_path, BEST, 5)
    assert checkpoint_files.read_pointer(tmp_path, BEST) == tmp_path / "step-5"
    checkpoint_files.restore_pointer(tmp_path, BEST, 9)  # which is not there
    assert checkpoint_files.read_pointer(tmp_path, BEST) == tmp_path / "step-5"


def test_a_torn_newest_one_does_not_crowd_out_what_is_written_after_going_back(tmp_path: Path) -> None:
    for step in (200, 400):
        checkpoint_files.write(tmp_path, snapshot(step))
    (tmp_path / "step-400" / "SHA256SUMS").unlink()
    saver = AsyncCheckpointWriter(tmp_path, keep=1, say=lambda event: None)
    for step in (250, 300):
        saver.save(snapshot(step))
        assert saver.flush(20.0)
    assert saver.failure is None
    assert [path.name for path in checkpoint_files.committed(tmp_path)] == ["step-300", "step-400"]
    saver.save(snapshot(400))
    assert saver.close(20.0)
    assert [path.name for path in checkpoint_files.committed(tmp_path)] == ["step-400"]
    assert checkpoint_files.read(tmp_path / "step-400").step == 400


def test_a_slow_disk_is_waited_for_and_a_hurry_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    going_on, real = threading.Event(), checkpoint_files.write

    def slow(folder: Path, taken: Snapshot) -> Path:
        going_on.wait(30)
        return real(folder, taken)

    monkeypatch.setattr(checkpoint_files, "write", slow)
    saver = AsyncCheckpointWriter(tmp_path, keep=3, say=lambda event: None)
    saver.save(snapshot(1))
    assert not saver.flush(0.01)
    threading.Timer(0.3, going_on.set).start()
    assert saver.close(0.01, patient=True)
    assert checkpoint_files.committed(tmp_path) == [tmp_path / "step-1"]


def test_a_disk_that_refuses_is_not_waited_for(tmp_path: Path) -> None:
    saver = AsyncCheckpointWriter(tmp_path / "folder", keep=3, say=lambda event: None, retry_after_s=0.05)
    (tmp_path / "folder").write_text("in the way")
    saver.save(snapshot(1))
    assert not saver.close(0.3, patient=True)
    assert saver.failure is not None


def test_a_writer_that_broke_has_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(folder: Path, taken: Snapshot) -> Path:
        raise ValueError("a defect")

    monkeypatch.setattr(checkpoint_files, "write", breaks)
    saver = AsyncCheckpointWriter(tmp_path, keep=3, say=lambda event: None)
    saver.save(snapshot(1))
    assert not saver.close(5.0)


def test_a_best_checkpoint_that_is_not_whole_costs_a_sentence_and_not_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import keras

    from holdfast.step.network import names_of

    monkeypatch.setattr(components.model_file, "save", lambda model, path: path.write_text("a model"))
    weight = keras.Variable(np.zeros(2, np.float32), name="w")
    model: Any = SimpleNamespace(trainable_variables=[weight], non_trainable_variables=[])
    folder, (name,) = RunFolder(tmp_path), names_of([weight])
    for step in (5, 9):
        state = {"weights": {name: np.full(2, step, np.float32)}}
        checkpoint_files.write(folder.checkpoints, Snapshot(step, state, {}))
    checkpoint_files.set_pointer(folder.checkpoints, BEST, "step-5")
    assert components.write_model(model, folder, 5) == (tmp_path / "model.npz", "")
    np.testing.assert_array_equal(weight.numpy(), [5, 5])
    assert components.write_model(model, folder, 7)[1] == (
        "step 7 was the best in validation, and its checkpoint is gone; the model has the weights of step 5"
    )
    weight.assign([1, 1])
    (folder.checkpoints / "step-5" / "weights.npz").write_bytes(b"torn")
    assert components.write_model(model, folder, 5)[1] == (
        "step 5 was the best in validation, and its checkpoint is not whole: weights.npz has another checksum than "
        "when it was written; the model has the weights of the end"
    )
    np.testing.assert_array_equal(weight.numpy(), [1, 1])


def test_a_terminal_that_closes_asks_for_an_end_and_nohup_does_not() -> None:
    taken = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in taken}
    try:
        asked = StopSignal()
        signal.raise_signal(signal.SIGHUP)
        assert (asked(), EXIT_CODES[asked()]) == ("SIGHUP", 129)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        ignoring = StopSignal()
        signal.raise_signal(signal.SIGHUP)
        assert ignoring() == ""
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
