# /// zoo
# cause = "retracing"
# variants = ["HOW=scalar LAYERS=3", "HOW=shape", "HOW=object"]
# near = ["STEPS=4000 HOW=few", "STEPS=4000 HOW=tensor"]
# limit_s = 300
# ///
"""Traces its step function anew at every call: a Python number, a new shape or a new object each time."""
from own_training import keras, knob, np, tf

how, steps = knob("HOW", "scalar"), knob("STEPS", 70)
model = keras.Sequential([*(keras.layers.Dense(32, activation="relu") for _ in range(knob("LAYERS", 5))), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(1e-3)


class Batch:
    def __init__(self, x):
        self.x = x


def forward(x, weight):
    x = x.x if isinstance(x, Batch) else x
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x, training=True) ** 2) * weight
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


model.build((None, 16))
optimizer.build(model.trainable_variables)
step_function = tf.function(forward)
for step in range(steps):
    rows = 1 + step if how == "shape" else (8, 16, 24)[step % 3] if how == "few" else 8
    x = tf.random.normal((rows, 16))
    weight = 1.0 + step * 0.01 if how == "scalar" else tf.constant(1.0 + step * 1e-4)
    value = step_function(Batch(x) if how == "object" else x, weight)
    if step % 50 == 0:
        print(f"step {step}: {float(value):.4f}", flush=True)
