"""What a pipeline.config says becomes a recipe, and what does not is listed with its line."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError, PathMissing, UsageError
from holdfast.settings import read
from holdfast.weights_import.object_detection_api.checkpoint_path import find_checkpoint
from holdfast.weights_import.object_detection_api.import_config import ImportedConfig, read_config, run_import
from holdfast.weights_import.object_detection_api.tensor_bundle import BadCheckpoint
from holdfast.weights_import.object_detection_api.text_format import NotAPipelineConfig

from .configs import FASTER_RCNN, FPNLITE, SSD, TRAINING

LABELS = "item { id: 1 name: 'cat' }\nitem { id: 3 name: 'dog' }\n"


def arguments(path: Path, **more: object) -> argparse.Namespace:
    return argparse.Namespace(**{"file": path, "checkpoint": None, "out": None, "json": False, **more})


def config(folder: Path, text: str, *, labels: str | None = LABELS) -> Path:
    path = folder / "pipeline.config"
    path.write_text(text)
    if labels is not None:
        (folder / "labels.pbtxt").write_text(labels)
    return path


def imported(folder: Path, text: str) -> ImportedConfig:
    return read_config(config(folder, text))


def test_the_recipe_of_an_ssd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = config(tmp_path, SSD + TRAINING)
    assert run_import(arguments(Path(path.name))) == 1
    text = (tmp_path / "pipeline/recipe.toml").read_text()
    assert text.splitlines()[2:] == [
        "[data]", 'train = "train.record"', 'validation = "test.record"', 'classes = ["cat", "unused-2", "dog"]',
        'augment = "light"', "", "[model]", 'detector = "ssd"', 'backbone = "mobilenet_v2"', "input = 160", "",
        "[train]", "steps = 300", "batch = 8", "clip_norm = 5.0", 'optimizer = "sgd"', 'schedule = "cosine"',
        "learning_rate = 0.02", "warmup_steps = 30",
        "weight_decay = 0.002  # the L2 regularizer's 0.0002, decoupled: momentum adds it up ten times",
    ]  # fmt: skip
    assert read(tmp_path / "pipeline/recipe.toml").train.warmup_steps == 30
    said = capsys.readouterr().out
    assert "no model: no checkpoint was given" in said
    line = next(
        number for number, row in enumerate(SSD.splitlines(), 1) if row.startswith("  conv_hyperparams")
    )
    assert (
        f"pipeline.config:{line}  model.ssd.box_predictor.convolutional_box_predictor.conv_hyperparams"
        in said
    )
    with pytest.raises(HoldfastError, match="would overwrite"):
        run_import(arguments(Path(path.name)))


def test_a_config_that_is_carried_over_completely_is_fine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config(tmp_path, FPNLITE + TRAINING)
    assert run_import(arguments(path, out=tmp_path / "new", json=True)) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["not_carried_over"] == []
    assert {one["field"].rsplit(".", 1)[-1] for one in found["without_effect"]} == {"scale"}


@pytest.mark.parametrize(
    ("old", "new", "name", "reason"),
    [
        ("batch_size: 8", "batch_sise: 8", "train_config.batch_sise", "did you mean batch_size?"),
        ("num_steps: 300", "num_steps: 300 freeze_variables: 'x'", "train_config.freeze_variables", "freeze_steps"),
        ("random_horizontal_flip { }", "random_rotation90 { }", "random_rotation90", "does not crop"),
        ("total_steps: 300", "total_steps: 500", "total_steps", "the cosine ends with the training"),
        ("use_moving_average: false", "nothing: 3", "train_config.optimizer.nothing", "no field"),
        ("learning_rate_base: .02", "learning_rate_base: .02 hold_steps: 3", "hold_steps", "no field"),
    ],
)  # fmt: skip
def test_what_is_not_carried_over_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, name: str, reason: str
) -> None:
    text = FPNLITE + TRAINING
    assert old in text
    before = {line.name for line in imported(tmp_path, text).not_carried_over}
    lines = [
        line
        for line in imported(tmp_path, text.replace(old, new)).not_carried_over
        if line.name not in before
    ]
    (line,) = [one for one in lines if one.name.endswith(name)]
    assert reason in line.reason
    assert (text.replace(old, new)).splitlines()[line.line - 1].count(line.name.rsplit(".", 1)[-1]) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("model { center_net { num_classes: 3 } }", "CenterNet is no architecture of Holdfast"),
        (SSD.replace("ssd_mobilenet_v2_keras", "ssd_efficientnet-b0_bifpn_keras"), "EfficientDet's backbone"),
        (SSD.replace("ssd_mobilenet_v2_keras", "ssd_mobilenet_v2"), "it is the TF1 form"),
        (SSD.replace("encode_background_as_zeros: true", ""), "the background is a class of a softmax"),
        (SSD.replace("SIGMOID", "SOFTMAX"), "scores are not those of a sigmoid"),
        (SSD.replace("weighted_sigmoid_focal", "weighted_softmax"), "not trained by the focal loss"),
        (FPNLITE.replace("min_level: 3 max_level: 7 anchor", "min_level: 2 anchor"), "levels without anchors"),
        (FASTER_RCNN.replace("resnet50_keras", "resnet50_fpn_keras"), "Faster R-CNN on a feature pyramid"),
        (FASTER_RCNN.replace("num_classes: 3", "num_classes: 3 number_of_stages: 3"), "another number of stages"),
    ],
)  # fmt: skip
def test_a_network_that_is_not_ours_is_named_and_its_recipe_is_written(
    tmp_path: Path, text: str, why: str
) -> None:
    path = config(tmp_path, text + TRAINING)
    found = read_config(path)
    assert found.model is None
    assert why in found.why_not
    assert any(line.name == "model" and why in line.reason for line in found.not_carried_over)
    assert run_import(arguments(path, out=tmp_path / "new")) == 1
    assert read(tmp_path / "new/recipe.toml").model.detector == "ssd"


@pytest.mark.parametrize(("epsilon", "listed"), [("1e-7", 0), ("1e-8", 1), ("", 0)])
def test_adams_epsilon_is_listed_where_it_is_another(tmp_path: Path, epsilon: str, listed: int) -> None:
    text = TRAINING.replace("momentum_optimizer_value: 0.9", f"epsilon: {epsilon}" if epsilon else "")
    found = imported(tmp_path, FPNLITE + text.replace("momentum_optimizer {", "adam_optimizer {"))
    assert found.recipe.values["train.optimizer"] == "adamw"
    names = [one.name for one in found.not_carried_over]
    assert names == ["train_config.optimizer.adam_optimizer.epsilon"] * listed


def test_mistakes_in_values_name_their_line(tmp_path: Path) -> None:
    for old, new, what in (
        ("num_steps: 300", "num_steps: soon", "train_config.num_steps is not a number"),
        ("batch_size: 8", "batch_size: 8.5", "train_config.batch_size is not a whole number"),
        ("use_moving_average: false", "use_moving_average: maybe", "is not true or false"),
    ):
        text = (FPNLITE + TRAINING).replace(old, new)
        with pytest.raises(NotAPipelineConfig, match=what) as caught:
            imported(tmp_path, text)
        line = int(caught.value.where.rsplit(":", 1)[1])
        assert new in text.splitlines()[line - 1]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAPipelineConfig, match="neither a model nor a train_config"):
        imported(tmp_path, LABELS)
    with pytest.raises(NotAPipelineConfig, match="no text"):
        path = tmp_path / "graph.config"
        path.write_bytes(b"\x0a\xff\xfe\x00")
        read_config(path)
    with pytest.raises(HoldfastError, match="label map does not belong"):
        read_config(config(tmp_path, SSD + TRAINING, labels="item { id: 9 name: 'x' }"))


def test_a_checkpoint_is_found_by_any_of_its_names(tmp_path: Path) -> None:
    for name in ("ckpt-0.index", "ckpt-0.data-00000-of-00001"):
        (tmp_path / name).write_bytes(b"")
    prefix = tmp_path / "ckpt-0"
    for given in (prefix, tmp_path / "ckpt-0.index", tmp_path / "ckpt-0.data-00000-of-00001", tmp_path):
        assert find_checkpoint(given) == prefix
    with pytest.raises(PathMissing) as caught:
        find_checkpoint(tmp_path / "ckpt-1")
    assert caught.value.found == (f"{tmp_path} has ckpt-0",)
    (tmp_path / "frozen_inference_graph.pb").write_bytes(b"\x0a")
    with pytest.raises(UsageError, match="frozen graph"):
        find_checkpoint(tmp_path / "frozen_inference_graph.pb")
    (tmp_path / "ckpt-2").write_bytes(b"")
    with pytest.raises(BadCheckpoint, match="no checkpoint of TensorFlow 2"):
        find_checkpoint(tmp_path / "ckpt-2")
    saved = tmp_path / "saved_model"
    saved.mkdir()
    (saved / "saved_model.pb").write_bytes(b"")
    with pytest.raises(UsageError, match="SavedModel") as refused:
        find_checkpoint(saved)
    assert refused.value.change == (
        f"give the checkpoint beside it: --checkpoint {tmp_path / 'checkpoint' / 'ckpt-0'}",
    )


@pytest.mark.parametrize("path", ["x" * 5000, "a\\000b", "a**b", "", "/", ".."], ids=lambda path: path[:5])
def test_paths_that_are_none(tmp_path: Path, path: str) -> None:
    text = SSD + TRAINING.replace("labels.pbtxt", path).replace("train.record", path)
    text = text.replace(
        "batch_size: 8",
        f'batch_size: 8 fine_tune_checkpoint: "{path}" fine_tune_checkpoint_type: "detection"',
    )
    assert imported(tmp_path, text).classes == ("class-1", "class-2", "class-3")
