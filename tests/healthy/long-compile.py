# /// zoo
# cause = "healthy"
# limit_s = 300
# ///
"""A deep model whose first step takes long to trace and compile, and the others no time."""
from own_training import batches, keras, knob

layers = keras.layers
model = keras.Sequential([*(layers.Dense(24, activation="relu") for _ in range(knob("LAYERS", 150))), layers.Dense(1)])
model.compile("adam", "mse", jit_compile=True)
model.fit(batches(400), epochs=2, verbose=2)
