"""A checkpoint becomes a model file, every weight in its place; one that does not fit names its first wrong tensor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.detectors import model_file
from holdfast.errors import HoldfastError
from holdfast.weights_import.object_detection_api.checkpoint_variables import source_of
from holdfast.weights_import.object_detection_api.import_config import run_import
from holdfast.weights_import.object_detection_api.load_checkpoint import load

from .bundle_writer import object_graph, write_bundle
from .configs import MODELS, TRAINING
from .test_read_config import arguments
from .test_same_answers import network

pytestmark = pytest.mark.long(20)


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return network("ssd", tmp_path_factory.mktemp("config"))


def stored(detector: Any) -> dict[str, Any]:
    """By the API's paths; the values are as a checkpoint has them, before any change."""
    rng = np.random.default_rng(1)
    return {
        f"model/{source_of(one.path, detector.spec).path}": rng.normal(size=one.shape).astype(np.float32)
        for one in detector.variables
    }


def write(prefix: Path, tensors: dict[str, Any]) -> None:
    keys = {name: f"{name}/.ATTRIBUTES/VARIABLE_VALUE" for name in tensors}
    write_bundle(prefix, {keys[name]: value for name, value in tensors.items()}, graph=object_graph(keys))


def test_a_model_file_has_every_weight(detector: Any, tmp_path: Path) -> None:
    tensors = stored(detector)
    write(tmp_path / "ckpt-0", tensors)
    config = tmp_path / "pipeline.config"
    config.write_text(MODELS["ssd"] + TRAINING)
    assert run_import(arguments(config, checkpoint=tmp_path / "ckpt-0", out=tmp_path / "new")) == 1
    spec, arrays = model_file.read(tmp_path / "new/model.npz")
    assert spec.classes == ("class-1", "class-2", "class-3")
    for name, value in arrays.items():
        source = source_of(name, spec)
        np.testing.assert_array_equal(value, source.change(tensors[f"model/{source.path}"]))
    assert 'weights = "model.npz"' in (tmp_path / "new/recipe.toml").read_text()


def test_the_background_moves_behind_the_classes(detector: Any) -> None:
    name = next(one.path for one in detector.variables if one.path.endswith("class_out_0/bias"))
    change = source_of(name, detector.spec).change
    np.testing.assert_array_equal(change(np.arange(8.0)), [1, 2, 3, 0, 5, 6, 7, 4])


def test_the_first_tensor_that_does_not_fit_is_named(detector: Any, tmp_path: Path) -> None:
    tensors = stored(detector)
    path = "model/_box_predictor/_prediction_heads/class_predictions_with_background/0/_class_predictor_layers/4/bias"
    write(tmp_path / "wide", {**tensors, path: np.zeros(273, np.float32)})
    with pytest.raises(HoldfastError, match=f"first tensor that does not fit is {path[6:]}") as caught:
        load(detector, tmp_path / "wide")
    assert caught.value.found == ("[273] in the checkpoint, [12] by the configuration",)
    kernel = "model/_feature_extractor/classification_backbone/layer_with_weights-0/kernel"
    write(tmp_path / "less", {name: value for name, value in tensors.items() if name != kernel})
    with pytest.raises(HoldfastError, match="layer_with_weights-0/kernel") as missing:
        load(detector, tmp_path / "less")
    assert missing.value.found == ("not in the checkpoint; the network's has the shape [3, 3, 3, 32]",)


def test_a_weight_that_is_no_number_is_refused(detector: Any, tmp_path: Path) -> None:
    tensors = stored(detector)
    name = next(name for name in tensors if name.endswith("layer_with_weights-1/gamma"))
    tensors[name][3:5] = np.nan, np.inf
    write(tmp_path / "ckpt", tensors)
    with pytest.raises(HoldfastError, match=f"the first tensor with one is {name[6:]}") as caught:
        load(detector, tmp_path / "ckpt")
    assert caught.value.found == ("2 of its 32 values are NaN or infinite",)


def test_checkpoints_of_tf1_and_of_classifiers_are_refused(detector: Any, tmp_path: Path) -> None:
    write_bundle(
        tmp_path / "tf1", {"FeatureExtractor/MobilenetV2/Conv/weights": np.zeros((3, 3, 3, 32), np.float32)}
    )
    with pytest.raises(HoldfastError, match="TensorFlow 1") as caught:
        load(detector, tmp_path / "tf1")
    assert "FeatureExtractor/MobilenetV2/Conv/weights" in caught.value.found[0]
    write_bundle(
        tmp_path / "other", {"k": np.zeros(3, np.float32)}, graph=object_graph({"backbone/kernel": "k"})
    )
    with pytest.raises(HoldfastError, match="holds no detector") as other:
        load(detector, tmp_path / "other")
    assert "backbone" in other.value.found[0]


def test_a_batch_normalisation_without_a_factor_has_one(detector: Any, tmp_path: Path) -> None:
    tensors = stored(detector)
    gamma = next(name for name in tensors if name.endswith("layer_with_weights-1/gamma"))
    write(tmp_path / "ckpt", {name: value for name, value in tensors.items() if name != gamma})
    variable = next(one for one in detector.variables if one.path.endswith("bn_Conv1/gamma"))
    load(detector, tmp_path / "ckpt")
    np.testing.assert_array_equal(np.asarray(variable), np.ones(32))
