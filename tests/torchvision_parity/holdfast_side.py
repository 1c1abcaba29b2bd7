"""`python -m tests.torchvision_parity.holdfast_side FOLDER ARCHITECTURE`: one line of JSON."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from holdfast.detectors import model_file
from holdfast.detectors.build import build
from holdfast.detectors.inference import compile_detect
from holdfast.weights_import.torchvision.torchvision_file import TorchvisionFile
from holdfast.weights_import.torchvision.torchvision_model import arrays_for, spec_of
from tests.torchvision_parity import compared
from tests.torchvision_parity.__main__ import FEW


def main() -> None:
    folder, name = Path(sys.argv[1]), sys.argv[2]
    side = 300 if name.startswith("ssd300") else 320
    inputs, answers = np.load(folder / f"inputs_{side}.npz"), dict(np.load(folder / f"{name}.npz"))
    file = TorchvisionFile(folder / f"{name}.pth")
    detector = build(_with_input(spec_of(file), side))
    model_file.fill(detector, arrays_for(file, detector))
    if (
        name == "fasterrcnn_mobilenet_v3_large_fpn"
    ):  # at 320 pixels Holdfast takes the counts of the other form
        detector.numbers = replace(detector.numbers, proposals=1000)
    pixels, sigmoid = inputs["images"], detector.spec.detector == "retinanet"
    worst: dict[str, float] = defaultdict(float)
    total = alone = tied = chained = 0
    run = compile_detect(detector)
    outputs = compared.raw_outputs(detector)
    for index in range(min(FEW, len(pixels))):
        for key, value in compared.raw_differences(detector, outputs, pixels, answers, index).items():
            worst[f"raw: {key}"] = max(worst[f"raw: {key}"], value)
    for index in range(len(pixels)):
        found = tuple(part[0] for part in run(pixels[index : index + 1]))
        theirs = compared.their_detections(answers, index)
        both, without, equal = compared.unpaired(compared.our_detections(detector, found), theirs)
        if without and f"raw/{index}/regions" in answers:
            given = answers[f"raw/{index}/regions"]
            again = compared.found_in_regions(detector, pixels[index : index + 1], given)
            in_theirs = compared.unpaired(compared.our_detections(detector, again), theirs)[1]
            without, chained = in_theirs, chained + without - in_theirs
        total, alone, tied = total + both, alone + without, tied + equal
    compared.with_everything_sampled(detector)
    losses = compared.compiled(detector, detector.losses_of)
    for index in range(min(FEW, len(pixels))):
        told = losses(_batch(inputs, index, sigmoid))
        for key, value in compared.loss_differences(told, answers, index).items():
            worst[f"loss: {key}"] = max(worst[f"loss: {key}"], value)
    print(
        json.dumps(
            {"worst": dict(worst), "detections": total, "unpaired": alone, "tied": tied, "chained": chained}
        )
    )


def _with_input(spec, side):
    return replace(spec, input=(side, side))


def _batch(inputs, index, sigmoid):
    real = np.arange(inputs["boxes"].shape[1])[None] < inputs["counts"][index]
    return {
        "images": inputs["images"][index : index + 1],
        "boxes": inputs["boxes"][index : index + 1].astype(np.float32),
        # torch's labels begin at 1; the classes of its RetinaNet begin with the background
        "labels": inputs["labels"][index : index + 1].astype(np.int32) - (0 if sigmoid else 1),
        "real": real,
        "crowd": np.zeros_like(real),
        "seeds": np.zeros(1, np.int32),
    }


if __name__ == "__main__":
    main()
