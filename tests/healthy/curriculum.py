# /// zoo
# cause = "healthy"
# ///
"""Three stages, each with more and wider data: the loss begins higher each time."""
import tensorflow as tf, numpy as np
keras = tf.keras
rng = np.random.default_rng(0)
model = keras.Sequential([keras.layers.Dense(32, activation='relu'), keras.layers.Dense(1)])
opt = keras.optimizers.Adam(0.003)
mse = keras.losses.MeanSquaredError()

@tf.function(reduce_retracing=True)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = mse(y, model(x, training=True))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
for stage, (spread, n) in enumerate([(0.5, 320), (1.0, 640), (2.0, 1280)]):
    X = (rng.normal(size=(n, 4)) * spread).astype('float32')
    Y = (X[:, :1] ** 2).astype('float32')
    for epoch in range(4):
        for x, y in tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(n).batch(32):
            loss = step(x, y)
    print(stage, float(loss))
