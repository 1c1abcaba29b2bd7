import math

import numpy as np
import pytest
from keras import ops

from holdfast.detectors.build import build
from holdfast.detectors.spec import DetectorSpec
from tests.detectors.detector_gradients import loss_and_gradients, part_of, small_batch

pytestmark = [pytest.mark.hot, pytest.mark.long(50)]

SIDE = 128
NAMES = ("ssd", "retinanet", "faster-rcnn")
_BUILT = {}


def spec_of(name, **changes):
    values = {
        "backbone": "mobilenet_v2",
        "classes": ("a", "b", "c"),
        "input": (SIDE, SIDE),
        "normalization": "group",
    }
    return DetectorSpec(detector=name, **(values | changes))


@pytest.fixture(params=NAMES, scope="module")
def detector(request):
    return built(request.param)


def built(name):
    """Fresh weights, built once in three seconds: no test here changes them."""
    if name not in _BUILT:
        _BUILT[name] = build(spec_of(name))
    return _BUILT[name]


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def test_fresh_heads_say_little(detector):
    images = small_batch(2, SIDE)["images"]
    logits, offsets = detector(images)[:2]
    if detector.spec.detector == "retinanet":
        probability = 1 / (1 + np.exp(-numpy(logits)))
    else:
        probability = numpy(ops.softmax(logits))[..., :3]
    assert np.median(probability) == pytest.approx(0.01, rel=0.2)
    assert np.percentile(probability, 95) < 0.04
    assert np.abs(numpy(offsets)).mean() < 0.2


def test_the_first_loss_is_what_the_formula_gives(detector):
    losses = {name: numpy(part) for name, part in detector.losses_of(small_batch(4, SIDE)).items()}
    found = losses["classification"][[0, 2, 3]]
    if detector.spec.detector == "ssd":
        # a positive costs -log 0.01, each of its three negatives -log 0.97, the hardest a little more
        np.testing.assert_allclose(found, -math.log(0.01) - 3 * math.log(0.97), rtol=0.1)
    elif detector.spec.detector == "retinanet":
        # a positive costs 0.25 * 0.99^2 * -log 0.01, all else next to nothing
        np.testing.assert_allclose(found, 0.25 * 0.99**2 * -math.log(0.01), rtol=0.15)
    else:
        np.testing.assert_allclose(losses["rpn_objectness"], math.log(2), rtol=0.05)
        assert (found < -math.log(0.01)).all()
    assert all(np.isfinite(part).all() for part in losses.values())


def test_an_image_without_boxes_trains_the_background_alone(detector):
    losses = {name: numpy(part) for name, part in detector.losses_of(small_batch(4, SIDE)).items()}
    assert losses["localization"][1] == 0.0
    assert losses["classification"][1] > 0.0
    assert losses["localization"][0] > 0.0


def test_detections_have_a_fixed_size_and_lie_inside(detector):
    boxes, scores, classes = (numpy(part) for part in detector.detect(small_batch(2, SIDE)["images"]))
    assert boxes.shape == (2, 100, 4)
    assert boxes.min() >= 0
    assert boxes.max() <= SIDE
    assert ((classes >= 0) == (scores > 0)).all()
    assert (np.diff(scores, axis=1) <= 0).all()


def test_two_micro_batches_of_four_give_the_gradient_of_eight(detector):
    batch = small_batch(8, SIDE)
    parts, loss, whole = loss_and_gradients(detector, batch)
    pieces = [loss_and_gradients(detector, part_of(batch, start, start + 4)) for start in (0, 4)]
    assert np.mean([piece[1] for piece in pieces]) == pytest.approx(loss, rel=1e-5)
    for name in parts:
        np.testing.assert_allclose(
            np.concatenate([piece[0][name] for piece in pieces]), parts[name], rtol=1e-4, atol=1e-6
        )
    for name, gradient in whole.items():
        accumulated = np.mean([piece[2][name] for piece in pieces], axis=0)
        scale = max(1.0, np.abs(gradient).max())
        np.testing.assert_allclose(accumulated, gradient, atol=1e-5 * scale, err_msg=name)
    # SSD's deepest levels have no box here
    assert sum(np.abs(gradient).max() > 0 for gradient in whole.values()) > 0.8 * len(whole)


def test_rematerialised_blocks_give_the_same_gradient():
    batch = small_batch(2, SIDE)
    plain = built("ssd")
    lean = build(spec_of("ssd", rematerialise=True))
    _, loss, gradients = loss_and_gradients(plain, batch)
    _, lean_loss, lean_gradients = loss_and_gradients(lean, batch)
    assert lean_loss == pytest.approx(loss, rel=1e-6)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(lean_gradients[name], gradient, atol=2e-5, err_msg=name)


def test_bfloat16_keeps_heads_and_losses_in_float32():
    half = build(spec_of("retinanet", precision="bfloat16"))
    batch = small_batch(2, SIDE)
    logits, offsets = half(batch["images"])
    assert "float32" in str(logits.dtype)
    assert "float32" in str(offsets.dtype)
    losses = half.losses_of(batch)
    for name, part in built("retinanet").losses_of(batch).items():
        assert "float32" in str(losses[name].dtype)
        np.testing.assert_allclose(numpy(losses[name]), numpy(part), rtol=0.05, atol=0.02)
    assert half.backbone.blocks[0].layers[1].compute_dtype == "bfloat16"
    assert half.head.class_out.out.compute_dtype == "float32"


def test_frozen_blocks_do_not_train():
    detector = build(spec_of("ssd", classes=("a",)))
    of_backbone = {variable.path for variable in detector.backbone.variables}
    assert of_backbone == {
        variable.path for variable in detector.variables if variable.path.startswith("backbone/")
    }
    every = len(detector.trainable_variables)
    detector.backbone.freeze(3)
    frozen = {variable.path for block in detector.backbone.blocks[:3] for variable in block.variables}
    left = {variable.path for variable in detector.trainable_variables}
    assert len(left) == every - len(frozen)
    assert not left & frozen
