"""Whether a file that ends too early is a checkpoint or data, by all that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain.cut_off_file import CutOffFile, cut_off_file, data_file_named
from holdfast.explain.gather import gather
from holdfast.journal import events as ev
from tests.explain.made import NOW, Run, at_hand

_KERAS = ("keras/src/saving/saving_lib.py:300 load_weights_only", "h5py/_hl/files.py:241 make_fid")
_TORCH = ("torch/serialization.py:1500 load", "torch/serialization.py:780 __init__")
_FETCH = ("torch/utils/data/_utils/fetch.py:54 fetch", "h5py/_hl/files.py:241 make_fid")


def found(run: Run) -> CutOffFile:
    file = cut_off_file(gather(run.path, now=NOW))
    assert file is not None
    return file


@pytest.mark.parametrize(
    ("path", "more", "of_model", "sure"),
    [
        # names, folders and functions
        ("weights/encoder.npz", {"function": "load_encoder"}, True, True),
        ("run/state_0200.npz", {}, True, True),
        ("train_state.npz", {}, True, True),
        ("out/best_val_0.31.pkl", {"function": "resume_from"}, True, True),
        ("blob.npz", {"function": "load_backbone", "code": "params = dict(np.load(path))"}, True, True),
        ("data/train.npz", {}, False, True),
        ("x_train.npy", {"code": "x = np.load(path)"}, False, True),
        ("features.npz", {"function": "load_data"}, False, True),
        ("epochs.npz", {"function": "read_signals", "code": "labels = np.load(path)"}, False, True),
        # formats
        ("out/a.safetensors", {}, True, True),
        ("out/a.parquet", {}, False, True),
        # readers
        ("out/a.h5", {"frames": _KERAS}, True, True),
        ("out/a.h5", {"frames": _FETCH}, False, True),
        ("out/a.h5", {"function": "__getitem__"}, False, True),
        ("out/a.npz", {"code": "model.load_weights(path)"}, True, True),
        # one weak sign, signs against each other, none
        ("blob.npz", {"function": "load_encoder"}, True, False),
        ("data/encoder.npz", {"function": "load_encoder"}, True, False),
        ("checkpoints/train.npz", {}, False, False),
        ("label_encoder.pkl", {}, True, False),
        ("blob.npz", {}, False, False),
        ("blob.pt", {"frames": _TORCH, "code": "z = torch.load(path)"}, True, False),
    ],
)  # fmt: skip
def test_a_checkpoint_or_data(
    tmp_path: Path, path: str, more: dict[str, object], of_model: bool, sure: bool
) -> None:
    run = Run(tmp_path / "run")
    at_hand(run, path, **more)  # type: ignore[arg-type]
    file = found(run)
    assert (file.path, file.of_model, file.sure) == (path, of_model, sure)


def test_what_the_dataset_reads_is_data_whatever_its_name(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(type="tf.data", files=["./weights/best.npz"], file_count=1))
    at_hand(run, "weights/best.npz", function="load_best")
    assert found(run)[1:3] == (False, True)
    assert found(run).facts[1].values == {"of_model": False, "signs": ["the dataset reads it"]}


def test_what_the_run_saved_is_a_checkpoint_whatever_its_name(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.SaveDone(path="out/train.npz"))
    at_hand(run, "out/train.npz")
    assert found(run)[1:3] == (True, True)


def test_a_file_that_is_being_written_is_not_looked_at(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    at_hand(run, "weights/encoder.npz", code="np.savez(path, **weights)")
    assert cut_off_file(gather(run.path, now=NOW)) is None


@pytest.mark.parametrize(
    ("path", "function", "is_data"),
    [
        ("data/train.h5", "load_features", True),
        ("out/blob.h5", "main", False),  # nothing speaks of data
        ("backup/latest.weights.h5", "main", False),
        ("data/encoder.h5", "main", False),
    ],
)
def test_a_file_that_only_the_words_of_the_error_name(
    tmp_path: Path, path: str, function: str, is_data: bool
) -> None:
    run = Run(tmp_path / "run")
    run.raised(
        "OSError", f"Unable to synchronously open file (truncated file: eof = 96, stored_eof = 31672) '{path}'",
        user_line="train.py:8", user_code="f = h5py.File(path)",
        frames=[f"train.py:8 {function}", "h5py/_hl/files.py:241 make_fid"],
    )  # fmt: skip
    assert (data_file_named(gather(run.path, now=NOW)) is not None) is is_data
    assert run.first().cause == ("corrupt-record" if is_data else "checkpoint-torn")
