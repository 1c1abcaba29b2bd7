# /// zoo
# cause = "healthy"
# ///
"""bfloat16, and float16 with the loss scaling that it needs."""
from own_training import batches, keras, network, train

for policy in ("mixed_bfloat16", "mixed_float16"):
    keras.mixed_precision.set_global_policy(policy)
    model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, dtype="float32")])
    train(model, batches(800), epochs=3, optimizer=keras.optimizers.Adam(1e-3))
