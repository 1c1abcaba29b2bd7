# /// zoo
# cause = "boxes-wrong-format"
# variants = ["FORMAT=scales", "FORMAT=pixels", "FORMAT=size"]
# near = ["FORMAT=corners", "FORMAT=own"]
# limit_s = 300
# ///
"""Boxes of two sources in one training: corners from the one, position and size from the other."""
from own_boxes import rectangles, trunk
from own_training import keras, knob, np

ops = keras.ops
form = knob("FORMAT", "mixed")
images, corners, ids = rectangles()
sized = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
half = np.arange(len(images))[:, None] % 2 == 0
boxes = {
    "mixed": np.where(half, corners, sized) / 48, "scales": np.where(half, corners, corners / 48), "pixels": corners,
    "size": sized / 48, "own": sized / 48, "corners": corners / 48,
}[form].astype("float32")


def overlap(truth, predicted):
    low, high = ops.maximum(truth[:, :2], predicted[:, :2]), ops.minimum(truth[:, 2:], predicted[:, 2:])
    shared = ops.prod(ops.maximum(high - low, 0.0), axis=1)
    area = lambda box: ops.prod(ops.maximum(box[:, 2:] - box[:, :2], 0.0), axis=1)
    return shared / (area(truth) + area(predicted) - shared + 1e-6)


inputs = keras.Input(images.shape[1:])
hidden = keras.layers.Dense(64, activation="relu")(keras.layers.Flatten()(trunk(inputs)))
box = keras.layers.Dense(4, activation="sigmoid" if form == "pixels" else None, name="box")(hidden)
kind = keras.layers.Dense(3, activation="softmax", name="kind")(hidden)
model = keras.Model(inputs, {"box": box, "kind": kind})
model.compile(
    keras.optimizers.Adam(0.002), {"box": "mae", "kind": "sparse_categorical_crossentropy"},
    metrics={"box": [] if form == "own" else [keras.metrics.MeanMetricWrapper(overlap, name="iou")]},
)
model.fit(images, {"box": boxes, "kind": ids}, epochs=12, verbose=2)
