# /// zoo
# cause = "retracing"
# leads_to = "killed-for-memory"
# memory_mib = 800
# limit_s = 500
# ///
"""Retraces until the memory of its container is used up."""
from own_training import keras, knob, tf

model = keras.Sequential([*(keras.layers.Dense(16, activation="relu") for _ in range(knob("LAYERS", 16))), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
model.build((None, 16))
optimizer.build(model.trainable_variables)


@tf.function
def step_function(x, weight):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x, training=True) ** 2) * weight
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for step in range(100_000):
    value = step_function(tf.random.normal((8, 16)), 1.0 / (1 + step))
    if step % 20 == 0:
        print(f"step {step}: {float(value):.4f}", flush=True)
