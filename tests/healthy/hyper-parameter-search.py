# /// zoo
# cause = "healthy"
# ///
"""Tries several learning rates, one of which is far too high, and takes the best."""
from own_training import batches, keras, network, np

best = None
for rate in (5.0, 1e-2, 1e-4):
    model = network()
    model.compile(keras.optimizers.SGD(rate), "mse")
    loss = model.fit(batches(400), epochs=2, verbose=0).history["loss"][-1]
    print("rate", rate, "loss", loss, flush=True)
    if np.isfinite(loss) and (best is None or loss < best[0]):
        best = loss, rate
print("best", best)
