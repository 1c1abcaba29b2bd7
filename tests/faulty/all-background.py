# /// zoo
# cause = "all-background"
# variants = ["HEAD=sigmoid"]
# near = ["RATE=0.003"]
# limit_s = 300
# ///
"""One place in 36 has an object, and a slow training learns nothing but that most have none."""
from own_boxes import rectangles, trunk
from own_training import keras, knob, np

images, boxes, ids = rectangles()
middle = ((boxes[:, :2] + boxes[:, 2:]) / 2 / 8).astype("int64").clip(0, 5)
grid = np.zeros((len(images), 6, 6), "int64")
grid[np.arange(len(images)), middle[:, 1], middle[:, 0]] = ids + 1
rate = knob("RATE", 0.0)
inputs = keras.Input(images.shape[1:])
hidden = keras.layers.Conv2D(32, 3, padding="same", activation="relu")(trunk(inputs))
if knob("HEAD", "softmax") == "softmax":
    head = keras.layers.Reshape((36, 4))(keras.layers.Conv2D(4, 1, activation="softmax")(hidden))
    targets, loss = grid.reshape(-1, 36), "sparse_categorical_crossentropy"
else:
    head = keras.layers.Reshape((36, 3))(keras.layers.Conv2D(3, 1, activation="sigmoid")(hidden))
    targets, loss = np.eye(4, dtype="float32")[grid.reshape(-1, 36)][..., 1:], "binary_crossentropy"
model = keras.Model(inputs, head)
model.compile(keras.optimizers.Adam(rate) if rate > 0.001 else keras.optimizers.SGD(0.01), loss)
model.fit(images, targets, epochs=30 if rate > 0.001 else 8, verbose=2)
