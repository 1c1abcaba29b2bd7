"""The published configurations that are compared, and what is changed in them for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

CONFIGS = Path("research/object_detection/configs/tf2")
_SSD: dict[str, str] = {}
#: Every anchor and every region counts, so that nothing is left to chance. Regions are cut out by the API's matrix
#: product: for its other way, rounding decides whether the last row of a region at the image's edge is read or 0.
_ALL_REGIONS = {
    "use_matmul_crop_and_resize": "",
    "use_static_balanced_label_sampler": "",
    "num_classes": "num_classes: {} first_stage_minibatch_size: 100000 second_stage_batch_size: 300 "
    "second_stage_balance_fraction: 1.0 use_matmul_crop_and_resize: true",
}


@dataclass(frozen=True)
class Case:
    name: str
    config: str
    size: int  # the input's side; 0: the configuration's own
    classes: int
    fields: dict[str, str] = field(default_factory=dict)


CASES = (
    Case("ssd-mobilenet-v2", "ssd_mobilenet_v2_320x320_coco17_tpu-8", 0, 90),
    Case("fpnlite", "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8", 0, 90),
    Case("retinanet-resnet50", "ssd_resnet50_v1_fpn_640x640_coco17_tpu-8", 0, 90),
    Case("faster-rcnn-resnet50", "faster_rcnn_resnet50_v1_640x640_coco17_tpu-8", 0, 90, _ALL_REGIONS),
    Case("faster-rcnn-resnet50-gpu", "faster_rcnn_resnet50_v1_800x1333_coco17_gpu-8", 256, 5, _ALL_REGIONS),
    Case("retinanet-resnet101", "ssd_resnet101_v1_fpn_640x640_coco17_tpu-8", 256, 5),
)


def config_of(case: Case, models: Path) -> str:
    """The published text with another number of classes and another size."""
    text = (models / CONFIGS / f"{case.config}.config").read_text()
    for name, value in case.fields.items():
        text = re.sub(rf"\b{name}: \S+", value.format(case.classes), text, count=1)
    text = re.sub(r"\bnum_classes: \d+", f"num_classes: {case.classes}", text, count=1)
    if case.size:
        for name in ("height", "width", "min_dimension", "max_dimension"):
            text = re.sub(rf"\b{name}: \d+", f"{name}: {case.size}", text)
    return text
