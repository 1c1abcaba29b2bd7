"""One thing after another that goes wrong in ways that stock Keras says little about."""

import os
import sys
import warnings

import keras
import numpy as np
import tensorflow as tf

warnings.simplefilter("ignore")
keras.utils.set_random_seed(1)
folder = sys.argv[1]
x = np.random.default_rng(0).random((64, 8), dtype="float32")
y = x[:, :1]


def fresh(optimizer="adam", loss="mse"):
    model = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)]
    )
    model.compile(optimizer, loss)
    return model


def tried(action):
    try:
        action()
    except Exception as error:
        print("caught", type(error).__name__)


# 1: saves by a callback, a monitor that does not exist
saver = keras.callbacks.ModelCheckpoint(os.path.join(folder, "m.weights.h5"), save_weights_only=True)
first = fresh()
first.fit(x, y, epochs=2, verbose=0, callbacks=[saver, keras.callbacks.EarlyStopping("val_los", mode="min")])
# restores without the optimizer, and a save that cannot be
fresh().load_weights(os.path.join(folder, "m.weights.h5"))
tried(lambda: first.save(os.path.join(folder, "missing", "m.keras")))

# 2: a learning rate that breaks everything
fresh(keras.optimizers.SGD(1e12)).fit(x, y, epochs=1, batch_size=8, verbose=0)

# 3: a loss whose gradient is not finite although the loss is
singular = fresh("sgd", lambda a, b: keras.ops.mean(keras.ops.sqrt(keras.ops.abs(a - b) * 0)))
singular.fit(x, y, epochs=1, batch_size=8, verbose=0)


# 4: a generator that ends
def batches():
    for start in range(0, 48, 8):
        yield x[start : start + 8], y[start : start + 8]


first.fit(batches(), epochs=3, verbose=0)


# 5: a callback that raises StopIteration
class Swallowed(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 2:
            raise StopIteration


first.fit(x, y, epochs=1, batch_size=8, verbose=0, callbacks=[Swallowed()])


# 6: an image that a Python function cannot read
def load(path):
    name = path.decode()
    with open(name, "rb") as file:
        data = file.read()
    if not data.endswith(b"\xff\xd9"):
        raise OSError("image file is truncated")
    return np.zeros(8, "float32")


names = []
for number in range(6):
    names.append(os.path.join(folder, f"{number}.jpg"))
    with open(names[-1], "wb") as file:
        file.write(b"\xff\xd8" + bytes(200) + (b"" if number == 4 else b"\xff\xd9"))
images = tf.data.Dataset.from_tensor_slices((names, y[:6])).map(
    lambda name, target: (tf.ensure_shape(tf.numpy_function(load, [name], tf.float32), (8,)), target)
)
tried(lambda: first.fit(images.shuffle(3).batch(2).prefetch(1), verbose=0))

# 7: a record with a flipped bit, in the second of two files
shards = [os.path.join(folder, f"{number}.tfrecord") for number in range(2)]
for number, shard in enumerate(shards):
    with tf.io.TFRecordWriter(shard) as writer:
        for _ in range(20):
            writer.write(bytes(100 + 7 * number))
with open(shards[1], "r+b") as file:
    file.seek(3 * (107 + 16) + 12 + 5)
    file.write(b"\x01")
records = tf.data.TFRecordDataset(shards).map(lambda record: (tf.ones((8,)), tf.ones((1,))))
tried(lambda: first.fit(records.batch(4), verbose=0))
