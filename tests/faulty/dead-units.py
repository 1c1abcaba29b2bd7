# /// zoo
# cause = "dead-units"
# variants = ["KIND=tfdata"]
# near = ["BIAS=0"]
# limit_s = 300
# ///
"""A bias of -50 before each ReLU: no unit ever gives anything but 0."""
from own_tables import fit, two_classes
from own_training import keras, knob, tf

x, y = two_classes()
layer = keras.layers.Dense(32, activation="relu", bias_initializer=keras.initializers.Constant(knob("BIAS", -50.0)))
if knob("KIND", "arrays") == "tfdata":
    model = keras.Sequential([layer, keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
    model.fit(tf.data.Dataset.from_tensor_slices((x, y[:, None])).batch(32), epochs=6, verbose=2)
else:
    fit([layer], x, y)
