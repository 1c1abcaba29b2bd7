# /// zoo
# cause = "learning-rate-too-high"
# quick = true
# variants = ["LOOP=custom", "RATE=1.5 COLUMNS=6", "WHO=momentum RATE=1"]
# near = ["RATE=0.01", "RATE=0.9 CLIP=1"]
# ///
"""The loss grows from step to step until it is no number any more."""
from own_training import batches, keras, knob, train

rate, clip = knob("RATE", 2.0), knob("CLIP", 0.0)
optimizer = keras.optimizers.SGD(rate, momentum=0.9 if knob("WHO", "sgd") == "momentum" else 0.0, clipnorm=clip or None)
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
train(model, batches(800, columns=knob("COLUMNS", 4)), epochs=4, optimizer=optimizer)
