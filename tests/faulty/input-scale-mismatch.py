# /// zoo
# cause = "input-scale-mismatch"
# variants = ["LOOP=custom", "SIDE=48"]
# near = ["RESCALE=1", "RESCALE=2"]
# limit_s = 300
# ///
"""Pixels of 0 to 255 go into a network made for 0 to 1, and nothing is learnt."""
from own_training import keras, knob, np, tf, train

side, rescale = knob("SIDE", 32), knob("RESCALE", 0)
random = np.random.default_rng(0)
labels = random.integers(0, 2, 320)
pictures = random.integers(0, 128, (320, side, side, 3)).astype("float32") + labels[:, None, None, None] * 60.0
layers = keras.layers
model = keras.Sequential([
    *([layers.Rescaling(1 / 255.0)] if rescale == 1 else []),
    layers.Conv2D(16, 3, activation="relu"), layers.Conv2D(16, 3, activation="relu"), layers.Flatten(),
    layers.Dense(32, activation="relu"), layers.Dense(2, activation="softmax"),
])
if rescale == 2:
    pictures /= 255.0
data = tf.data.Dataset.from_tensor_slices((pictures, labels)).shuffle(320).batch(16)
train(model, data, epochs=5, loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.SGD(0.05))
