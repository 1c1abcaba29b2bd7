# /// zoo
# cause = "healthy"
# ///
"""A short loop without tf.function, to see how things behave."""
from own_training import batches, keras, network, tf

model, optimizer = network(), keras.optimizers.SGD(1e-2)
for x, y in batches(240):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
print("last loss", float(loss))
