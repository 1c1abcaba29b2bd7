import json

import numpy as np
import pytest
from keras import ops

from holdfast.detectors.anchors.anchor_defaults import shapes_of
from holdfast.detectors.build import build
from holdfast.detectors.model_file import SPEC_NAME, NotAModelFile, _at_input, fine_tune, load, save
from holdfast.detectors.model_paths import initial_model, read_spec
from holdfast.detectors.spec import DetectorSpec
from holdfast.errors import OutOfRange, PathMissing, WeightsDoNotFit
from tests.detectors.detector_gradients import small_batch

pytestmark = pytest.mark.hot

SPEC = DetectorSpec("ssd", "mobilenet_v2", ("a", "b"), (96, 96), normalization="group")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.npz"
    detector = build(SPEC, seed=3)
    save(detector, path)
    return path, detector


def test_a_loaded_detector_detects_the_same(saved):
    path, detector = saved
    again = load(path)
    assert again.spec == SPEC
    images = small_batch(2, 96)["images"]
    for ours, theirs in zip(detector.detect(images), again.detect(images), strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(ours), ops.convert_to_numpy(theirs))
    assert [file.name for file in path.parent.iterdir()] == ["model.npz"]


def test_other_classes_remake_the_class_heads_and_say_so(saved):
    path, detector = saved
    other, fit = fine_tune(path, ("x", "y", "z"))
    fresh = [line.split(":")[0] for line in fit.fresh]
    assert fresh == [f"class_out_{i}/out/{part}" for i in range(6) for part in ("kernel", "bias")]
    assert fit.fresh[0] == "class_out_0/out/kernel: (1, 1, 576, 18) in the file, (1, 1, 576, 24) here"
    assert fit.unused == ()
    assert len(fit.kept) == len(detector.variables) - 12
    assert fit.summary().startswith(
        f"{len(fit.kept)} weights were kept, 12 start fresh\n  class_out_0/out/kernel"
    )
    before = {variable.path: variable for variable in detector.variables}
    kept = next(variable for variable in other.variables if variable.path == fit.kept[0])
    np.testing.assert_array_equal(ops.convert_to_numpy(kept), ops.convert_to_numpy(before[fit.kept[0]]))


def test_the_same_classes_keep_everything_and_computing_is_as_the_recipe_says(saved):
    made, fit = fine_tune(saved[0], ("a", "b"), rematerialise=True)
    assert fit.summary() == f"all {len(fit.kept)} weights were kept"
    assert made.spec.rematerialise
    assert made.spec.normalization == "group"


def test_as_many_other_classes_remake_the_heads_though_their_shape_fits(saved):
    other, fit = fine_tune(saved[0], ("c", "d"))
    assert fit.fresh[0] == "class_out_0/out/kernel: for other classes in the file (a, b)"
    assert len(fit.fresh) == 12
    before = {variable.path: ops.convert_to_numpy(variable) for variable in saved[1].variables}
    after = {variable.path: ops.convert_to_numpy(variable) for variable in other.variables}
    assert (before["class_out_0/out/kernel"] != after["class_out_0/out/kernel"]).any()
    np.testing.assert_array_equal(before["box_out_0/out/kernel"], after["box_out_0/out/kernel"])


def test_a_class_keeps_its_numbers_by_its_name_in_another_order(saved):
    other, fit = fine_tune(saved[0], ("b", "x", "a"))
    assert (fit.fresh, len(fit.carried), fit.known_classes) == ((), 12, ("b", "a"))
    assert fit.summary().splitlines()[1] == "  12 heads keep what they learned about b, a"
    before = {variable.path: ops.convert_to_numpy(variable) for variable in saved[1].variables}
    after = {variable.path: ops.convert_to_numpy(variable) for variable in other.variables}
    old = before["class_out_0/out/kernel"].reshape(576, 6, 3)  # a, b, background
    new = after["class_out_0/out/kernel"].reshape(576, 6, 4)
    np.testing.assert_array_equal(new[..., [2, 0, 3]], old)


def test_fitted_anchors_grow_with_the_input_and_need_its_levels(tmp_path):
    shapes = shapes_of("ssd", "mobilenet_v2", (96, 96))
    spec = DetectorSpec("ssd", "mobilenet_v2", ("a",), (96, 96), anchors=shapes)
    assert _at_input(spec, (96, 96), tmp_path) is shapes
    wider = _at_input(spec, (96, 192), tmp_path)
    np.testing.assert_allclose(wider[2], [(2 * w, h) for w, h in shapes[2]])
    small = DetectorSpec(
        "ssd", "resnet50", ("a",), (320, 320), anchors=shapes_of("ssd", "resnet50", (320, 320))
    )
    with pytest.raises(WeightsDoNotFit) as refused:
        _at_input(small, (512, 512), tmp_path)
    assert refused.value.what == (
        "at an input of 512 the detector has 7 levels, and the file holds anchors that were fitted to 6"
    )
    assert refused.value.change == ("model.input = 320, which the file was trained with",)


def test_the_file_tells_what_it_is_without_being_read(saved, tmp_path):
    assert read_spec(saved[0])["normalization"] == "group"
    assert read_spec(saved[0])["classes"] == ["a", "b"]
    (tmp_path / "text.npz").write_text("hello")
    assert read_spec(tmp_path / "text.npz") == {}


def test_what_weights_to_go_on_from(saved, tmp_path):
    assert initial_model(str(saved[0])) == saved[0]
    assert initial_model(str(saved[0].parent)) == saved[0]
    assert initial_model("imagenet") is None
    assert initial_model(None) is None
    assert initial_model(str(tmp_path)) is None  # may hold weights of a backbone
    (tmp_path / "journal.jsonl").write_text("")
    with pytest.raises(PathMissing) as refused:
        initial_model(str(tmp_path))
    assert refused.value.what == "the run has not ended, and a run writes its model at its end"


def test_a_recipe_for_another_detector_is_refused(saved):
    with pytest.raises(WeightsDoNotFit) as caught:
        fine_tune(
            saved[0], ("c", "d"), expected={"model.detector": "retinanet", "model.backbone": "mobilenet_v2"}
        )
    assert caught.value.found == ("model.detector is 'retinanet', the file holds 'ssd'",)
    assert caught.value.change == ('model.detector = "ssd"',)


def test_files_that_are_no_model(tmp_path):
    with pytest.raises(PathMissing):
        load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(NotAModelFile):
        load(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(NotAModelFile):
        load(tmp_path / "other.npz")


def test_a_torn_file_is_no_model(saved, tmp_path):
    whole = saved[0].read_bytes()
    (tmp_path / "torn.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(NotAModelFile):
        load(tmp_path / "torn.npz")


def test_settings_that_do_not_exist():
    with pytest.raises(OutOfRange) as caught:
        build(DetectorSpec("ssd", "mobilenet_v3", ("a",), (96, 96)))
    assert caught.value.change == (
        "model.backbone = 'mobilenet_v2'; it may be mobilenet_v2, vgg16, resnet50",
    )
    with pytest.raises(OutOfRange):
        build(DetectorSpec("ssd", "mobilenet_v2", ("a",), (32, 96)))


@pytest.mark.parametrize(
    "spec",
    [{"input": [10**9, 10**9]}, {"options": [["rpn_channels", 2**31]]}, {"options": [["x", float("nan")]]}],
)
def test_a_description_without_bounds_is_refused_before_a_network_is_built(tmp_path, spec):
    content = {"detector": "ssd", "backbone": "mobilenet_v2", "classes": ["a"], "input": [320, 320], **spec}
    np.savez(tmp_path / "model.npz", **{SPEC_NAME: np.frombuffer(json.dumps(content).encode(), np.uint8)})
    with pytest.raises(NotAModelFile) as refused:
        load(tmp_path / "model.npz")
    assert "a detector with a setting of" in refused.value.found[0]
