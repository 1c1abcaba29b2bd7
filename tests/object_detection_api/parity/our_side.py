"""Run by Holdfast's interpreter, once for each backend: the imported model's answers on the same images.

`python -m tests.object_detection_api.parity.our_side MODEL.npz IMAGES.npz API_ANSWERS.npz OUT.npz`. The second stage
of Faster R-CNN also looks at the API's regions.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    from keras import ops

    from holdfast.detectors import model_file
    from holdfast.detectors.inference import compile_detect

    detector: Any = model_file.load(Path(sys.argv[1]))
    given, api = np.load(sys.argv[2]), np.load(sys.argv[3])
    detect, losses, raw = (
        compile_detect(detector),
        compiled(detector, detector.losses_of),
        compiled(detector, detector),
    )
    stages = compiled(detector, lambda both: first_and_second(detector, both))
    found: dict[str, list[Any]] = {}
    for index, pixels in enumerate(given["images"]):
        named = dict(zip(("boxes", "scores", "classes"), detect(pixels[None]), strict=True))
        outputs = {
            f"raw_{place}": value for place, value in enumerate(raw(ops.convert_to_tensor(pixels[None])))
        }
        if detector.spec.detector == "faster-rcnn":
            looked = stages({"image": pixels[None], "regions": api["proposal_boxes"][index]})
            outputs |= dict(zip(("rpn_0", "rpn_1", "theirs_0", "theirs_1"), looked, strict=True))
        y1, x1, y2, x2 = given["boxes"][index].T
        batch = {
            "images": pixels[None], "boxes": np.stack([x1, y1, x2, y2], axis=-1)[None].astype(np.float32),
            "labels": given["labels"][index][None].astype(np.int32), "seeds": np.zeros(1, np.int32),
            "real": np.ones((1, len(y1)), bool), "crowd": np.zeros((1, len(y1)), bool),
        }  # fmt: skip
        parts = losses({name: ops.convert_to_tensor(value) for name, value in batch.items()})
        for name, value in {**named, **outputs, **parts}.items():
            found.setdefault(name, []).append(np.asarray(ops.convert_to_numpy(value)))
    np.savez(sys.argv[4], **{name: np.stack(values) for name, values in found.items()})


def first_and_second(detector: Any, given: dict[str, Any]) -> Any:
    (features,) = detector.backbone(given["image"])
    return (*detector.rpn(features), *detector._look_closer(features, given["regions"]))


def compiled(detector: Any, function: Any) -> Any:
    """As a step runs it: on TensorFlow a graph, on JAX compiled."""
    import keras

    if keras.backend.backend() == "jax":
        import jax

        variables = list(detector.variables)

        def stateless(values: Any, argument: Any) -> Any:
            with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
                return function(argument)

        run = jax.jit(stateless)
        return lambda argument: run([variable.value for variable in variables], argument)
    import tensorflow as tf

    run = tf.function(function)
    return lambda argument: run(tf.nest.map_structure(tf.convert_to_tensor, argument))


if __name__ == "__main__":
    main()
