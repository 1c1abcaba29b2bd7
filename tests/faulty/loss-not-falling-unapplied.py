# /// zoo
# cause = "loss-not-falling"
# variants = ["HOW=eager", "HOW=train_step"]
# near = ["HOW=looked-at", "HOW=late"]
# ///
"""Gradients are taken at every step, and nobody applies them."""
from own_training import keras, knob, np, tf

how = knob("HOW", "compiled")
random = np.random.default_rng(0)
x, y = random.random((640, 4), "float32"), random.random((640, 1), "float32")
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
rule = keras.optimizers.Adam(1e-3) if how != "looked-at" else None


def slopes(first, second):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(first) - second) ** 2)
    return loss, tape.gradient(loss, model.trainable_variables)


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = model

    def call(self, inputs):
        return self.inner(inputs)

    def train_step(self, data):
        return {"loss": slopes(*data)[0]}


def in_a_fit():
    whole = Own()
    whole.compile(rule, "mse")
    whole.fit(x, y, batch_size=16, epochs=4, verbose=2)


def in_a_loop():
    taking = tf.function(slopes) if how == "compiled" else slopes
    for epoch in range(4):
        for at in range(0, 640, 16):
            loss, found = taking(tf.constant(x[at : at + 16]), tf.constant(y[at : at + 16]))
            if how == "late" and epoch == 3:
                rule.apply_gradients(zip(found, model.trainable_variables))
        print(f"epoch {epoch}: {float(loss):.4f}", flush=True)


(in_a_fit if how == "train_step" else in_a_loop)()
