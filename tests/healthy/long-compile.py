# /// zoo
# cause = "healthy"
# limit_s = 300
# ///
"""A deep model whose first step takes long to trace and compile, and the others no time."""
from own_training import batches, keras, knob

layers = keras.layers
first = inputs = keras.Input((4,))
for _ in range(knob("LAYERS", 150)):
    inputs = layers.Add()([inputs, layers.Dense(4, activation="tanh", kernel_initializer=keras.initializers.RandomNormal(stddev=0.02))(layers.LayerNormalization()(inputs))])
model = keras.Model(first, layers.Dense(1)(inputs))
model.compile("adam", "mse", jit_compile=True)
model.fit(batches(400), epochs=2, verbose=2)
