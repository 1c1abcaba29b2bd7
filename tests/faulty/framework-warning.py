# /// zoo
# cause = "framework-warning"
# near = ["REAL=1"]
# limit_s = 300
# ///
"""The part of the network that could learn does not reach the loss; Keras warns of it, and trains."""
from own_training import keras, knob, table

x, y = table(640)


class Network(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = keras.layers.Dense(16, activation="relu")
        self.head = keras.layers.Dense(1)
        self.offset = keras.layers.Dense(1)

    def call(self, rows):
        answer = self.head(self.body(rows))
        return answer if knob("REAL", 0) else keras.ops.stop_gradient(answer) * 0.0 + self.offset(rows * 0.0)


model = Network()
model.compile("adam", "mse")
model.fit(x, y, epochs=6, verbose=2)
