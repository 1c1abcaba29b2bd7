# /// zoo
# cause = "healthy"
# variants = ["KIND=gan", "KIND=gan-by-fit", "KIND=vae", "KIND=triplet", "KIND=policy", "KIND=residual", "KIND=sequences", "KIND=map", "KIND=several", "KIND=embedding", "KIND=frozen-body"]
# limit_s = 300
# ///
"""Trainings whose labels or losses are of their own kind; KIND chooses one."""
from own_training import keras, knob, np

kind, layers, ops = knob("KIND", "contrastive"), keras.layers, keras.ops
random = np.random.default_rng(0)
x = random.normal(size=(480, 6)).astype("float32")


def dense(*units, last=None):
    return keras.Sequential([keras.Input((6,)), *(layers.Dense(one, activation="relu") for one in units[:-1]), layers.Dense(units[-1], activation=last)])


class Vae(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = dense(16, 4), keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(6)])

    def call(self, rows):
        mean, spread = ops.split(self.encoder(rows), 2, axis=1)
        self.add_loss(0.01 * ops.mean(ops.square(mean) + ops.exp(spread) - spread - 1))
        return self.decoder(mean + ops.exp(spread / 2) * keras.random.normal(ops.shape(mean)))


def gan(by_fit):
    generator, judge = dense(16, 6), dense(16, 1, last="sigmoid")
    judge.compile("adam", "binary_crossentropy")
    judge.trainable = False
    both = keras.Sequential([generator, judge])
    both.compile("adam", "binary_crossentropy")
    for _ in range(6 if by_fit else 30):
        noise = random.normal(size=(64, 6)).astype("float32")
        made = np.concatenate([x[:64], generator.predict(noise, verbose=0)])
        said = np.repeat([1.0, 0.0], 64)
        judge.trainable = True
        if by_fit:
            judge.fit(made, said, epochs=1, verbose=0)
            judge.trainable = False
            both.fit(noise, np.ones(64), epochs=1, verbose=0)
        else:
            judge.train_on_batch(made, said)
            judge.trainable = False
            both.train_on_batch(noise, np.ones(64))


def train(model, inputs, targets, loss, **more):
    model.compile(keras.optimizers.Adam(0.01), loss)
    model.fit(inputs, targets, epochs=10, verbose=2, **more)


def pairs():
    near = x + 0.1 * random.normal(size=x.shape).astype("float32")
    rows, other = keras.Input((6,)), keras.Input((6,))
    body = dense(16, 4)
    distance = layers.Lambda(lambda two: ops.sum(ops.square(two[0] - two[1]), axis=1, keepdims=True))([body(rows), body(other)])
    return keras.Model([rows, other], distance), [np.concatenate([x, x]), np.concatenate([near, x[::-1]])]


if kind.startswith("gan"):
    gan(kind == "gan-by-fit")
elif kind == "contrastive":
    model, two = pairs()
    train(model, two, np.repeat([1.0, 0.0], 480), lambda same, d: ops.mean(same * d + (1 - same) * ops.maximum(1 - d, 0)))
elif kind == "triplet":
    model, two = pairs()
    train(model, two, np.zeros((960, 1)), lambda _, d: ops.mean(ops.maximum(d[:480 // 15] - d[-480 // 15 :] + 1, 0)))
elif kind == "vae":
    train(Vae(), x, x, "mse")
elif kind == "policy":
    actions = np.eye(3)[random.integers(0, 3, 480)]
    gained = random.normal(size=480) + actions @ [1.0, 0.0, -1.0]
    train(dense(16, 3, last="softmax"), x, actions * np.abs(gained)[:, None], "categorical_crossentropy")
elif kind == "residual":
    rows = keras.Input((6,))
    answer = dense(16, 1)(rows)
    left = layers.Lambda(lambda two: two[0] - ops.sum(two[1], axis=1, keepdims=True))([answer, rows])
    train(keras.Model(rows, left), x, np.zeros((480, 1)), "mse")
elif kind == "sequences":
    steps = random.normal(size=(480, 8, 2)).astype("float32")
    model = keras.Sequential([layers.SimpleRNN(16, return_sequences=True), layers.Dense(1)])
    train(model, steps, steps.sum(axis=2, keepdims=True).cumsum(axis=1) / 4, "mse")
elif kind == "map":
    images = random.normal(size=(96, 16, 16, 1)).astype("float32")
    model = keras.Sequential([layers.Conv2D(8, 3, padding="same", activation="relu"), layers.Conv2D(1, 1, activation="sigmoid")])
    train(model, images, (images > 0.8).astype("float32"), "binary_crossentropy")
elif kind == "several":
    rows = keras.Input((6,))
    body = layers.Dense(16, activation="relu")(rows)
    model = keras.Model(rows, [layers.Dense(1, activation="sigmoid", name="sign")(body), layers.Dense(1, name="total")(body)])
    total = x.sum(axis=1)
    train(model, x, [(total > 0).astype("float32"), total], {"sign": "binary_crossentropy", "total": "mse"})
elif kind == "embedding":
    words = random.integers(0, 500, (480, 10))
    model = keras.Sequential([layers.Embedding(500, 8), layers.GlobalAveragePooling1D(), layers.Dense(1, activation="sigmoid")])
    train(model, words, (words < 100).any(axis=1).astype("float32"), "binary_crossentropy")
elif kind == "frozen-body":
    body = dense(64, 32, last="relu")
    body.trainable = False
    train(keras.Sequential([body, layers.Dense(3, activation="softmax")]), x, np.digitize(x.sum(axis=1), [-2, 2]), "sparse_categorical_crossentropy")
