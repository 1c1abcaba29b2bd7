# /// zoo
# cause = "background-id-clash"
# variants = ["HOT=1"]
# near = ["FIRST=1"]
# limit_s = 300
# ///
"""Unit 0 is background, and the ids of the objects begin at 0 as well."""
from own_boxes import rectangles, trunk
from own_training import keras, knob, np

first, hot = knob("FIRST", 0), knob("HOT", 0)
images, boxes, ids = rectangles()
places = ((boxes[:, :2] + boxes[:, 2:]) / 2 / 8).astype("int64").clip(0, 5)
place = places[:, 1] * 6 + places[:, 0]
rows = np.arange(len(images))
kinds, corners = np.zeros((len(images), 36), "int64"), np.zeros((len(images), 36, 4), "float32")
kinds[rows, place], corners[rows, place] = ids + first, boxes / 48
inputs = keras.Input(images.shape[1:])
hidden = keras.layers.Conv2D(32, 3, padding="same", activation="relu")(trunk(inputs))
kind = keras.layers.Reshape((36, 4), name="kind")(keras.layers.Conv2D(4, 1, activation="softmax")(hidden))
corner = keras.layers.Reshape((36, 4), name="corner")(keras.layers.Conv2D(4, 1)(hidden))
model = keras.Model(inputs, [kind, corner])
model.compile(keras.optimizers.Adam(0.005), ["categorical_crossentropy" if hot else "sparse_categorical_crossentropy", "mae"])
model.fit(images, [np.eye(4, dtype="float32")[kinds] if hot else kinds, corners], epochs=10, verbose=2)
