"""A torchvision detector from its spec."""

from __future__ import annotations

from typing import Any

from holdfast.detectors.spec import DetectorSpec


def build(spec: DetectorSpec) -> Any:
    """Fresh weights, as torchvision's heads start; pretrained ones are put in by `model_file`."""
    if spec.detector == "ssd":
        from holdfast.detectors.torchvision.torchvision_ssd import TorchvisionSSD

        return TorchvisionSSD(spec)
    if spec.detector == "retinanet":
        from holdfast.detectors.torchvision.torchvision_retinanet import TorchvisionRetinaNet

        return TorchvisionRetinaNet(spec)
    from holdfast.detectors.torchvision.torchvision_faster_rcnn import TorchvisionFasterRCNN

    return TorchvisionFasterRCNN(spec)
