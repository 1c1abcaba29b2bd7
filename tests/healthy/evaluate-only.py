# /// zoo
# cause = "healthy"
# quick = true
# ///
"""Only measures a model; nothing is trained and nothing should be."""
from own_training import batches, network

model = network()
model.compile("sgd", "mse", metrics=["mae"])
print(model.evaluate(batches(4000), verbose=2))
print(model.predict(batches(400), verbose=2).mean())
