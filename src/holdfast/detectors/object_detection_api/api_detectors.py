"""A detector of the Object Detection API from its spec."""

from __future__ import annotations

from holdfast.detectors.object_detection_api.api_faster_rcnn import ApiFasterRCNN
from holdfast.detectors.object_detection_api.api_ssd import ApiSSD
from holdfast.detectors.spec import DetectorSpec


def build(spec: DetectorSpec) -> ApiSSD | ApiFasterRCNN:
    return ApiFasterRCNN(spec) if spec.detector == "faster-rcnn" else ApiSSD(spec)
