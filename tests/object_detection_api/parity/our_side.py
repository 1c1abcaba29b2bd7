"""Run by Holdfast's interpreter, once for each backend: the imported model's answers on the same images.

`python -m tests.object_detection_api.parity.our_side MODEL.npz IMAGES.npz API_ANSWERS.npz OUT.npz`. The second stage
of Faster R-CNN also looks at the API's regions. Regions and detections are also made from the API's own outputs: what
differs there is not rounding.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from .api_side import EXACT


def main() -> None:
    from keras import ops

    from holdfast.detectors import model_file
    from holdfast.detectors.inference import compile_detect

    detector: Any = model_file.load(Path(sys.argv[1]))
    given, api = np.load(sys.argv[2]), np.load(sys.argv[3])
    two_stages = detector.spec.detector == "faster-rcnn"
    detect, losses = compile_detect(detector), compiled(detector, detector.losses_of)
    raw = compiled(detector, lambda one: (stages if two_stages else outputs)(detector, one))
    found: dict[str, list[Any]] = {}
    for index, pixels in enumerate(given["images"]):
        named = dict(zip(("boxes", "scores", "classes"), detect(pixels[None]), strict=True))
        theirs = {name: api[key][index] for name, key in RAW.items()} if two_stages else {}
        seen = raw({"image": pixels[None], **theirs})
        y1, x1, y2, x2 = given["boxes"][index].T
        batch = {
            "images": pixels[None], "boxes": np.stack([x1, y1, x2, y2], axis=-1)[None].astype(np.float32),
            "labels": given["labels"][index][None].astype(np.int32), "seeds": np.zeros(1, np.int32),
            "real": np.ones((1, len(y1)), bool), "crowd": np.zeros((1, len(y1)), bool),
        }  # fmt: skip
        parts = losses({name: ops.convert_to_tensor(value) for name, value in batch.items()})
        for name, value in {**named, **seen, **parts}.items():
            found.setdefault(name, []).append(np.asarray(ops.convert_to_numpy(value)))
    answered = {name: np.stack(values) for name, values in found.items()}
    np.savez(sys.argv[4], **answered, **exact_outputs(detector, given["images"][:EXACT]))


RAW = {
    "objectness": "rpn_objectness_predictions_with_background", "region_codes": "rpn_box_encodings",
    "logits": "class_predictions_with_background", "codes": "refined_box_encodings", "regions": "proposal_boxes",
}  # fmt: skip


def exact_outputs(detector: Any, pixels: Any) -> dict[str, Any]:
    """Raw outputs in float64, of Faster R-CNN its first stage's. TensorFlow's graph gives them."""
    import keras

    if keras.backend.backend() != "tensorflow":
        return {}
    from .float64_graph import in_float64

    def raw(given: Any) -> dict[str, Any]:
        if detector.spec.detector == "faster-rcnn":
            values = detector.rpn(detector.backbone(given)[0])
        else:
            values = detector(given)
        return {f"exact_{index}": value for index, value in enumerate(values)}

    run = in_float64(raw, pixels[:1].astype(np.float32))
    found = [run(one[None]) for one in pixels]
    return {name: np.stack([one[name] for one in found]) for name in found[0]}


def outputs(detector: Any, given: dict[str, Any]) -> dict[str, Any]:
    logits, codes = detector(given["image"])
    return {"raw_0": logits, "raw_1": codes}


def stages(detector: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The first stage on the image, and the second on the API's regions: `there`. What the API's own outputs become
    here, the regions of its first stage and the detections of its second: `given`."""
    from keras import ops

    (features,) = detector.backbone(given["image"])
    objectness, codes = detector.rpn(features)
    logits, refined = detector._look_closer(features, given["regions"])
    found = {"rpn_0": objectness, "rpn_1": codes, "theirs_0": logits, "theirs_1": refined}
    propose = detector._propose
    found["regions"], _ = propose(objectness, codes, detector.anchors, None)
    found["given_regions"], _ = propose(given["objectness"], given["region_codes"], detector.anchors, None)
    real = ops.any(given["regions"] != 0.0, axis=-1)
    their_logits = ops.roll(given["logits"], -1, axis=-1)  # the API has the background first
    for name, outputs in {
        "there": (logits, refined), "given": (their_logits[None], given["codes"][None])
    }.items():  # fmt: skip
        detected = detector.detections(*outputs, given["regions"], real)
        found |= {f"{name}_{part}": value for part, value in detected._asdict().items()}
    return found


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
