# /// zoo
# cause = "retracing"
# limit_s = 600
# ///
"""The step number goes into a tf.function as a Python number: each call is traced again."""
import tensorflow as tf

layers = [tf.keras.layers.Dense(32, activation="relu") for _ in range(2)] + [tf.keras.layers.Dense(1)]
model = tf.keras.Sequential(layers)
model.build((None, 8))
optimizer = tf.keras.optimizers.SGD(learning_rate=0.01)


@tf.function
def train_step(x, step, total):
    weight = 1.0 - step / total
    with tf.GradientTape() as tape:
        loss = weight * tf.reduce_mean(tf.square(model(x, training=True) - 1.0))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


for step in range(60):
    loss = train_step(tf.random.normal((32, 8)), step, 60)
    if step % 10 == 0:
        print("step", step, "loss", float(loss))
