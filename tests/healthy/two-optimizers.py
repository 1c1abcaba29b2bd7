# /// zoo
# cause = "healthy"
# ///
"""Two networks against one another: losses go up and down and nothing converges."""
from own_training import keras, np, tf

layers = keras.layers
maker = keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(4)])
judge = keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(1)])
rules = keras.optimizers.Adam(1e-3), keras.optimizers.Adam(1e-3)
cross = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def step(real):
    with tf.GradientTape() as first, tf.GradientTape() as second:
        fake = maker(tf.random.normal((16, 8)))
        yes, no = judge(real), judge(fake)
        judged = cross(tf.ones_like(yes), yes) + cross(tf.zeros_like(no), no)
        made = cross(tf.ones_like(no), no)
    rules[0].apply_gradients(zip(first.gradient(made, maker.trainable_variables), maker.trainable_variables))
    rules[1].apply_gradients(zip(second.gradient(judged, judge.trainable_variables), judge.trainable_variables))
    return judged, made


for epoch in range(6):
    for _ in range(100):
        judged, made = step(tf.random.normal((16, 4)) * 0.3 + 1.0)
    print(f"epoch {epoch}: judge {float(judged):.3f}, maker {float(made):.3f}", flush=True)
