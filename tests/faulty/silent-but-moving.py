# /// zoo
# cause = "silent-but-moving"
# explain_at_s = 45
# variants = ["LOOP=batch"]
# ///
"""Says nothing, and trains."""
from own_training import batches, knob, network, ready, time_passes

model = network()
model.compile("sgd", "mse")
data = batches(800)
if knob("LOOP", "fit") == "fit":
    import keras

    pace = keras.callbacks.LambdaCallback(on_train_batch_end=lambda step, logs: time_passes(step) or ready())
    model.fit(data, epochs=500, verbose=0, callbacks=[pace])
else:
    for _epoch in range(500):
        for step, (x, y) in enumerate(data):
            model.train_on_batch(x, y)
            time_passes(step)
            ready()
