# /// zoo
# cause = "half-precision-overflow"
# variants = ["SCALE=900"]
# near = ["POLICY=float32", "SCALE=1"]
# ///
"""Activations leave the range of float16."""
from own_training import batches, keras, knob, network, tf, train

keras.mixed_precision.set_global_policy(knob("POLICY", "mixed_float16"))
scale = knob("SCALE", 300.0)
model = keras.Sequential([
    keras.layers.Rescaling(scale), keras.layers.Dense(64, kernel_initializer="ones"),
    keras.layers.Dense(64, kernel_initializer="ones"), keras.layers.LayerNormalization(), keras.layers.Dense(1, dtype="float32"),
])
train(model, batches(400), epochs=3, optimizer=keras.optimizers.SGD(1e-4))
