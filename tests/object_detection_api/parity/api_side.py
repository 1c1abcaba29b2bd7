"""Run by an interpreter that has the API's packages: builds its model, writes its checkpoint, and stores its answers.

`python api_side.py CONFIG IMAGES.npz OUT.npz CHECKPOINT_FOLDER SEED_OR_WEIGHTS`: random weights, or those of a file by
the checkpoint's keys. It imports nothing of Holdfast.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np

EXACT = 3  # images that are also answered in float64
_ONE_BY_ONE = 4  # images for the batch statistics of Faster R-CNN


def main() -> None:
    import tensorflow as tf
    from object_detection.builders import model_builder
    from object_detection.utils import config_util

    config, images, out, folder, weights = sys.argv[1:6]
    given = np.load(images)
    configs = config_util.get_configs_from_pipeline_file(config)
    model = model_builder.build(configs["model"], is_training=False)
    pixels = given["images"].astype(np.float32)
    checkpoint = tf.train.Checkpoint(model=model)
    if weights.endswith(".npz"):
        restore(checkpoint, model, pixels, np.load(weights), folder)
    else:
        randomise(model, pixels, int(weights))
    written = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=1).save(checkpoint_number=0)
    trained = in_training(configs["model"], pixels, written) if two_stages(model) else model
    found = answers(model, trained, pixels, given["boxes"], given["labels"])
    np.savez(out, **found, **exact_answers(model, pixels[:EXACT]))


def two_stages(model: Any) -> bool:
    return hasattr(model, "max_num_proposals")


def in_training(config: Any, pixels: Any, written: str) -> Any:
    """Faster R-CNN as it is trained, which chooses its anchors and regions in another way; with stored statistics."""
    import tensorflow as tf
    from object_detection.builders import model_builder

    model = model_builder.build(config, is_training=True)
    model.provide_groundtruth(
        groundtruth_boxes_list=[tf.constant([[0.2, 0.2, 0.7, 0.7]])],
        groundtruth_classes_list=[tf.one_hot([0], model.num_classes)],
        groundtruth_weights_list=[tf.ones(1)],
    )
    model.predict(*model.preprocess(tf.constant(pixels[:1])))
    tf.train.Checkpoint(model=model).read(written).assert_existing_objects_matched()
    for one in model.submodules:
        if hasattr(one, "moving_mean"):
            one._training = False
    return model


def answers(model: Any, trained: Any, pixels: Any, boxes: Any, labels: Any) -> dict[str, Any]:
    """`trained` gives the losses."""
    import tensorflow as tf

    found: dict[str, list[Any]] = {}
    for index in range(len(pixels)):
        image, shapes = model.preprocess(tf.constant(pixels[index : index + 1]))
        predicted = model.predict(image, shapes)
        detected = model.postprocess(dict(predicted), shapes)
        height, width = image.shape[1:3]
        sides = np.array([height, width, height, width], np.float32)
        trained.provide_groundtruth(
            groundtruth_boxes_list=[tf.constant(boxes[index] / sides)],
            groundtruth_classes_list=[tf.one_hot(labels[index], model.num_classes)],
            groundtruth_weights_list=[tf.ones(len(labels[index]))],
        )
        losses = trained.loss(predicted if trained is model else trained.predict(image, shapes), shapes)
        raw = {name: predicted[name] for name in RAW if name in predicted}
        kept = {name: detected[name] for name in ("detection_boxes", "detection_scores", "detection_classes")}
        for name, value in {**raw, **kept, **losses}.items():
            found.setdefault(name.replace("/", "."), []).append(np.asarray(value))
        gc.collect()  # regions cut out of features are large, and lie in cycles
    result = {name: np.stack(values) for name, values in found.items()}
    result["anchors"] = np.asarray(predicted["anchors"])
    return result


def exact_answers(model: Any, pixels: Any) -> dict[str, Any]:
    """The graph's raw outputs in float64; of Faster R-CNN those of its first stage, because suppression is float32."""
    import tensorflow as tf
    from float64_graph import in_float64

    _, shapes = model.preprocess(tf.constant(pixels[:1]))
    names = [name for name in RAW if name.startswith("rpn_")] if two_stages(model) else RAW[:2]

    def raw(prepared: Any) -> dict[str, Any]:
        predicted = model.predict(prepared, shapes)
        return {name: predicted[name] for name in names}

    run = in_float64(raw, pixels[:1])
    found = [run(exactly_prepared(model, one[None])) for one in pixels]
    return {f"exact_{name}": np.stack([one[name] for one in found]) for name in names}


def exactly_prepared(model: Any, pixels: Any) -> Any:
    """What `preprocess` makes of pixels, a line through black and white, without its rounding."""
    import tensorflow as tf

    low, high, own = (
        np.asarray(model.preprocess(tf.constant(one))[0], np.float64)
        for one in (np.zeros_like(pixels), np.full_like(pixels, 255.0), pixels)
    )
    exact = low + pixels * (np.round(high - low) / 255.0)
    if np.abs(exact - own).max() > 1e-6 * np.abs(own).max():
        raise SystemExit("the API prepares these images in another way")
    return exact


RAW = (
    "box_encodings", "class_predictions_with_background", "rpn_box_encodings",
    "rpn_objectness_predictions_with_background", "refined_box_encodings", "proposal_boxes",
)  # fmt: skip


def randomise(model: Any, pixels: Any, seed: int) -> None:
    """Weights of a useful size, and the batch statistics of the images. Heads then speak up for a few classes here and
    there, as trained ones do.

    SSD takes all images at once: its last level is one cell, of which few images have no variance. Faster R-CNN takes
    some from all over, one after the other, and the mean of their statistics: the regions of four take ten gigabytes.
    """
    import tensorflow as tf

    rng = np.random.default_rng(seed)
    image, shapes = model.preprocess(tf.constant(pixels[:1]))
    model.postprocess(dict(model.predict(image, shapes)), shapes)
    for variable in variables_of(model):
        variable.assign(_fresh(variable, rng))
    norms = [one for one in model.submodules if hasattr(one, "moving_mean")]
    tf.keras.backend.set_learning_phase(True)  # the API's layers ask for it
    single = pixels[:: max(1, len(pixels) // _ONE_BY_ONE)][:_ONE_BY_ONE, None]
    for index, batch in enumerate(single if two_stages(model) else [pixels]):
        for one in norms:
            one.momentum, one._training = index / (index + 1), True
        model.predict(*model.preprocess(tf.constant(batch)))
        gc.collect()
    tf.keras.backend.set_learning_phase(False)
    for one in norms:
        one._training = False


def restore(checkpoint: Any, model: Any, pixels: Any, given: Any, folder: str) -> None:
    """Through a checkpoint with the same keys and object graph, and these values."""
    import tensorflow as tf

    image, shapes = model.preprocess(tf.constant(pixels))
    model.postprocess(dict(model.predict(image, shapes)), shapes)
    written = checkpoint.write(f"{folder}/initial")
    reader = tf.train.load_checkpoint(written)
    names = [name for name, _ in tf.train.list_variables(written)]
    values = [tf.constant(given[name] if name in given else reader.get_tensor(name)) for name in names]
    tf.raw_ops.SaveV2(
        prefix=f"{folder}/seeded", tensor_names=names, shape_and_slices=[""] * len(names), tensors=values
    )
    tf.train.Checkpoint(model=model).read(f"{folder}/seeded").assert_existing_objects_matched()


def variables_of(model: Any) -> list[Any]:
    found = {}
    for module in model.submodules:
        for variable in module.variables if hasattr(module, "variables") else ():
            found[variable.ref()] = variable
    return sorted(found.values(), key=lambda one: (one.name, one.shape.as_list()))


def _fresh(variable: Any, rng: Any) -> Any:
    """Small factors at the end of residual blocks, and shifts that leave most channels above zero: rounding then grows
    from layer to layer as in a trained network. With shifts around zero it grows ten times as much."""
    shape, name = variable.shape.as_list(), variable.name
    if "gamma" in name:
        ends_block = "_3_bn" in name or "project_BN" in name
        return rng.uniform(0.2, 0.5, shape) if ends_block else rng.uniform(0.7, 1.3, shape)
    if "beta" in name:
        return rng.normal(0.7, 0.3, shape)
    if "moving_mean" in name:
        return rng.normal(0.0, 0.1, shape)
    if "moving_variance" in name:
        return rng.uniform(0.5, 1.5, shape)
    if "bias" in name:
        return rng.normal(-3.0 if "Class" in name else 0.0, 0.3, shape)
    fan = np.prod(shape[:2]) if "depthwise" in name else np.prod(shape[:-1])
    spread = (
        (1.5 if "pointwise" in name else 0.5) if "ClassPredictor" in name else 0.5 if "Box" in name else 1.4
    )
    return rng.normal(0.0, spread / np.sqrt(fan), shape)


if __name__ == "__main__":
    Path(sys.argv[4]).mkdir(parents=True, exist_ok=True)
    main()
