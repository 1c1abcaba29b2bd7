# /// zoo
# cause = "input-starved"
# alone = true
# limit_s = 300
# variants = ["LOOP=custom", "HOW=python", "HOW=python LOOP=batch"]
# near = ["HEAVY=1"]
# ///
"""The step is short and each batch is long in the making: on the cores, or in Python on one of them."""
import os

from own_training import keras, knob, network, np, tf, train

how, steps = knob("HOW", "native"), knob("STEPS", 400 if os.environ.get("HOW", "native") == "native" else 120)


def slow(x):
    for _ in range(knob("ROUNDS", 12)):
        x = tf.linalg.matmul(x, x) / 100.0
    return tf.reduce_mean(x, axis=0)[:4], tf.reduce_mean(x)[None]


def slow_python(number):
    total = sum(hash(str(i)) % 7 for i in range(knob("ROUNDS", 12) * 40_000))
    return np.full(4, total % 3, "float32"), np.ones(1, "float32")


if knob("HEAVY", 0):  # as slow a step, but the model is what takes the time
    layers = keras.layers
    model = keras.Sequential([layers.Conv2D(48, 5, padding="same"), layers.Conv2D(48, 5), layers.GlobalAveragePooling2D(), layers.Dense(1)])
    data = tf.data.Dataset.from_tensors((tf.ones((64, 64, 3)), tf.ones((1,)))).repeat(60 * 8).batch(8)
elif how == "native":
    model = network()
    data = tf.data.Dataset.range(steps).map(lambda n: slow(tf.random.stateless_normal((500, 500), seed=(n, 1)))).batch(1)
else:
    model = network()
    data = tf.data.Dataset.range(steps).map(lambda n: tf.numpy_function(slow_python, (n,), (tf.float32, tf.float32)))
    data = data.map(lambda x, y: (tf.ensure_shape(x, (4,)), tf.ensure_shape(y, (1,)))).batch(1)
train(model, data, epochs=2, optimizer=keras.optimizers.SGD(1e-5 if knob("HEAVY", 0) else 1e-2))
