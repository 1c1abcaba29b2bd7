# /// zoo
# cause = "input-not-finite"
# quick = true
# variants = ["LOOP=custom", "VALUE=inf", "ROW=40 LOOP=batch", "UNITS=relu"]
# near = ["MASK=1", "ROW=-1"]
# ///
"""One value of one sample is not a number. With `relu` the loss stays finite: it makes nothing of the NaN."""
from own_training import keras, knob, table, tf, train

x, y = table(400, 6)
if knob("ROW", 260) >= 0:
    x[knob("ROW", 260), 2] = float(knob("VALUE", "nan"))
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
if knob("MASK", 0):
    data = data.map(lambda a, b: (tf.where(tf.math.is_finite(a), a, 0.0), b))
model = keras.Sequential([keras.layers.Dense(8, activation=knob("UNITS", "tanh")), keras.layers.Dense(1)])
train(model, data, epochs=3)
