"""Which detector a state dict is of, and what its classes are called."""

from __future__ import annotations

from holdfast.weights_import.torchvision.architecture import current_name, recognise
from holdfast.weights_import.torchvision.coco_classes import coco_names


def test_coco_has_80_classes_at_its_numbers() -> None:
    names = coco_names()
    real = [name for name in names if not name.startswith("unused") and name != "background"]
    assert (len(names), len(real), len(set(names))) == (91, 80, 91)
    assert [names[number] for number in (1, 13, 37, 62, 67, 72, 84, 90)] == [
        "person", "stop sign", "sports ball", "chair", "dining table", "tv", "book", "toothbrush"
    ]  # fmt: skip
    unused = [number for number, name in enumerate(names) if name.startswith("unused")]
    assert unused == [12, 26, 29, 30, 45, 66, 68, 69, 71, 83]


def test_names_of_earlier_versions_become_those_of_today() -> None:
    for old, new in {
        "backbone.fpn.inner_blocks.2.weight": "backbone.fpn.inner_blocks.2.0.weight",
        "backbone.fpn.layer_blocks.0.bias": "backbone.fpn.layer_blocks.0.0.bias",
        "rpn.head.conv.weight": "rpn.head.conv.0.0.weight",
        "head.classification_head.conv.6.weight": "head.classification_head.conv.3.0.weight",
        "head.regression_head.conv.2.bias": "head.regression_head.conv.1.0.bias",
    }.items():
        assert current_name(old) == new
        assert current_name(new) == new


def test_each_architecture_is_recognised_by_its_tensors() -> None:
    resnet = {"backbone.body.conv1.weight": (64, 3, 7, 7)}
    two_stages = {"roi_heads.box_predictor.cls_score.bias": (5,)}
    newer = {"roi_heads.box_head.0.0.weight": (256, 256, 3, 3)}
    retinanet = {"head.classification_head.cls_logits.bias": (45,)}
    lite = {
        "backbone.features.0.0.0.weight": (16, 3, 3, 3), "head.classification_head.module_list.0.1.bias": (30,)
    }  # fmt: skip
    vgg = {"backbone.scale_weight": (512,), "head.classification_head.module_list.0.bias": (20,)}
    mobile = {"backbone.body.0.0.weight": (16, 3, 3, 3)}
    names = {
        "fasterrcnn_resnet50_fpn": resnet | two_stages,
        "fasterrcnn_resnet50_fpn_v2": resnet | two_stages | newer,
        "retinanet_resnet50_fpn": resnet | retinanet,
        "ssdlite320_mobilenet_v3_large": lite,
        "ssd300_vgg16": vgg,
        "fasterrcnn_mobilenet_v3_large_fpn": mobile | two_stages,
    }
    for name, shapes in names.items():
        found = recognise(shapes)
        assert found is not None and (found.name, found.outputs) == (name, 5)
        first = ("background",) if name.startswith("retinanet") else ()
        assert found.classes == (*first, "class 1", "class 2", "class 3", "class 4")
    assert recognise(resnet | two_stages | {"roi_heads.mask_head.0.0.weight": (256, 256, 3, 3)}) is None
    assert recognise(resnet) is None
