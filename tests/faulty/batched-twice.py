# /// zoo
# cause = "batched-twice"
# variants = ["BATCH=16", "LOOP=custom"]
# near = ["FRAMES=6"]
# ///
"""Batches what is batched already."""
from own_training import keras, knob, np, tf, train

batch, frames = knob("BATCH", 8), knob("FRAMES", 0)
shape = (frames, 16, 16, 3) if frames else (16, 16, 3)
x = np.random.default_rng(0).random((256, *shape), "float32")
data = tf.data.Dataset.from_tensor_slices((x, x.mean(axis=tuple(range(1, x.ndim)))[:, None])).batch(batch)
layers = keras.layers
if frames:  # a rank of five is right for films
    model = keras.Sequential([layers.TimeDistributed(layers.Conv2D(4, 3)), layers.GlobalAveragePooling3D(), layers.Dense(1)])
else:
    data = data.batch(batch)
    model = keras.Sequential([layers.Conv2D(4, 3), layers.GlobalAveragePooling2D(), layers.Dense(1)])
train(model, data, epochs=2)
