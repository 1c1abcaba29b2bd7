# /// zoo
# cause = "healthy"
# quick = true
# ///
"""A loop of one's own with a GradientTape, metrics and a validation."""
from own_training import batches, keras, network, tf

model, optimizer, measure = network(), keras.optimizers.Adam(1e-2), keras.losses.MeanSquaredError()


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = measure(y, model(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for epoch in range(5):
    mean = keras.metrics.Mean()
    for x, y in batches(800).shuffle(20):
        mean.update_state(step(x, y))
    held = [float(measure(y, model(x, training=False))) for x, y in batches(80)]
    print(f"epoch {epoch}: loss {float(mean.result()):.4f}, held out {sum(held) / len(held):.4f}", flush=True)
