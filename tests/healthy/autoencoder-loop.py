# /// zoo
# cause = "healthy"
# ///
"""A sigmoid against images between 0 and 1: the cross-entropy cannot come near 0."""
import tensorflow as tf, numpy as np
keras = tf.keras
rng = np.random.default_rng(0)
base = rng.random((8, 64))
X = np.clip(base[rng.integers(0, 8, 640)] + 0.05 * rng.normal(size=(640, 64)), 0, 1).astype('float32')
ds = tf.data.Dataset.from_tensor_slices(X).shuffle(640).batch(32)
ae = keras.Sequential([keras.layers.Dense(16, activation='relu'), keras.layers.Dense(64, activation='sigmoid')])
opt = keras.optimizers.Adam(0.003)
bce = keras.losses.BinaryCrossentropy()

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = bce(x, ae(x, training=True))
    opt.apply_gradients(zip(tape.gradient(loss, ae.trainable_variables), ae.trainable_variables))
    return loss
for epoch in range(8):
    for x in ds:
        loss = step(x)
    print(epoch, float(loss))
