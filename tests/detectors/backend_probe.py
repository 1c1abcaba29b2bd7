"""Run in a process of its own, with KERAS_BACKEND set: the losses, gradients and detections of a saved model.

python -m tests.detectors.backend_probe MODEL.npz BATCH.npz OUT.npz
"""

import sys
from pathlib import Path

import keras
import numpy as np

from holdfast.detectors.inference import compile_detect
from holdfast.detectors.model_file import load
from tests.detectors.detector_gradients import loss_and_gradients


def main(model: str, batch_file: str, out: str) -> None:
    keras.utils.set_random_seed(0)
    detector = load(Path(model))
    with np.load(batch_file) as content:
        batch = {name: content[name] for name in content.files}
    parts, _, gradients = loss_and_gradients(detector, batch)
    boxes, scores, classes = compile_detect(detector)(batch["images"])
    np.savez(
        out,
        **{f"loss:{name}": value for name, value in parts.items()},
        **{f"gradient:{name}": value for name, value in gradients.items()},
        **{"detected:boxes": boxes, "detected:scores": scores, "detected:classes": classes},
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
