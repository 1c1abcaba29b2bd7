# /// zoo
# cause = "vanishing-gradients"
# near = ["ACTIVATION=relu"]
# limit_s = 300
# ///
"""A class of the user's own, which is not looked at: how far its weights moved shows where the gradient ends."""
from own_tables import two_classes
from own_training import keras, knob


class Deep(keras.Model):
    def __init__(self):
        super().__init__()
        activation = knob("ACTIVATION", "sigmoid")
        self.hidden = [keras.layers.Dense(32, activation=activation) for _ in range(10)]
        self.out = keras.layers.Dense(1, activation="sigmoid")

    def call(self, inputs):
        for layer in self.hidden:
            inputs = layer(inputs)
        return self.out(inputs)


x, y = two_classes()
model = Deep()
model.compile(keras.optimizers.SGD(0.05), "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=8, verbose=2)
