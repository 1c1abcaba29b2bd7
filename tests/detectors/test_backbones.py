import keras
import numpy as np
import pytest
from keras import ops

from holdfast.detectors.backbones.backbone import build_backbone, vgg16_reduced
from holdfast.detectors.backbones.blocks import to_caffe, to_minus_one_and_one
from holdfast.detectors.backbones.imagenet_weights import find_file
from holdfast.errors import PathMissing, WeightsDoNotFit
from tests import real_data

pytestmark = pytest.mark.hot

WEIGHTS = real_data.WEIGHTS / "mobilenet_v2"


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def test_preprocessing_is_that_of_the_weights():
    images = np.random.default_rng(0).integers(0, 256, (2, 4, 4, 3)).astype(np.uint8)
    as_float = images.astype(np.float32)
    expected = keras.applications.mobilenet_v2.preprocess_input(as_float.copy())
    np.testing.assert_allclose(numpy(to_minus_one_and_one(images)), expected, atol=1e-6)
    expected = keras.applications.resnet50.preprocess_input(as_float.copy())
    np.testing.assert_allclose(numpy(to_caffe(images)), expected, atol=1e-4)


@real_data.needs(WEIGHTS)
def test_blocks_with_weights_equal_the_network_of_keras():
    images = np.random.default_rng(1).integers(0, 256, (1, 96, 96, 3)).astype(np.uint8)
    backbone = build_backbone("mobilenet_v2", (96, 96), for_ssd=True, weights=str(WEIGHTS))
    network = keras.applications.MobileNetV2(
        input_shape=(96, 96, 3), include_top=False, weights=str(find_file(str(WEIGHTS), "mobilenet_v2"))
    )
    expected = network(
        keras.applications.mobilenet_v2.preprocess_input(images.astype(np.float32)), training=False
    )
    # folding the normalisation into the kernels rounds each of 52 layers otherwise
    np.testing.assert_allclose(numpy(backbone(images)[-1]), numpy(expected), atol=5e-4)
    strides = [96 // feature.shape[1] for feature in backbone(images)]
    assert strides == [16, 32]


def test_vgg16_is_the_papers():
    network = vgg16_reduced((300, 300, 3))
    assert network.get_layer("block4_conv3").output.shape == (None, 38, 38, 512)
    assert network.output.shape == (None, 19, 19, 1024)
    assert network.get_layer("fc6").dilation_rate == (6, 6)


def test_weights_that_are_not_there(tmp_path):
    with pytest.raises(PathMissing) as caught:
        find_file(str(tmp_path / "none.h5"), "resnet50")
    assert "the weights for resnet50 are not there" in caught.value.what
    assert "torchvision's trained detectors are called coco, coco-v2, coco-320" in caught.value.change
    (tmp_path / "vgg16_notop.h5").write_bytes(b"")
    with pytest.raises(PathMissing) as caught:
        find_file(str(tmp_path), "resnet50")
    assert caught.value.found == ("vgg16_notop.h5",)
    (tmp_path / "ResNet-50_notop.weights.h5").write_bytes(b"")
    assert find_file(str(tmp_path), "resnet50").name == "ResNet-50_notop.weights.h5"


@real_data.needs(WEIGHTS)
def test_weights_of_another_network_are_named():
    file = find_file(str(WEIGHTS), "mobilenet_v2")
    with pytest.raises(WeightsDoNotFit) as caught:
        build_backbone("vgg16", (64, 64), for_ssd=True, weights=str(file))
    assert caught.value.where == str(file)
    assert caught.value.found
