# /// zoo
# cause = "shapes-broadcast"
# near = ["SQUEEZE=1"]
# limit_s = 300
# ///
"""A quantile's loss, in `compute_loss`: predictions have an axis more than the targets."""
from own_training import keras, knob, np


class Quantile(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(32, activation="relu")
        self.out = keras.layers.Dense(1)

    def call(self, inputs):
        return self.out(self.hidden(inputs))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        if knob("SQUEEZE", 0):
            y_pred = keras.ops.squeeze(y_pred, -1)
        error = y - y_pred
        return keras.ops.mean(keras.ops.maximum(0.8 * error, -0.2 * error))


rng = np.random.default_rng(0)
x = rng.normal(size=(2000, 4)).astype("float32")
y = (2 * x[:, 0] - x[:, 1]).astype("float32")
model = Quantile()
model.compile(keras.optimizers.Adam(3e-3))
model.fit(x, y, epochs=8, batch_size=50, verbose=2)
