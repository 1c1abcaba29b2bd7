"""A small detector of the classes of the made dataset, which was never trained."""

from __future__ import annotations

from pathlib import Path

from holdfast.data.synthetic import CLASSES


def write(path: Path) -> None:
    from holdfast.detectors.build import build
    from holdfast.detectors.model_file import save
    from holdfast.detectors.spec import DetectorSpec

    save(build(DetectorSpec("ssd", "mobilenet_v2", CLASSES, (96, 96)), seed=3), path)
