# /// zoo
# cause = "healthy"
# variants = ["KIND=fine-tuning", "KIND=linear-factors", "KIND=recurrent", "KIND=attention", "KIND=vae", "KIND=gan", "KIND=contrastive", "KIND=warm-up", "KIND=at-optimum", "KIND=noise", "KIND=smoke-test", "KIND=norm", "KIND=sparse-relu", "KIND=dropout", "KIND=penalty", "KIND=zero-head", "KIND=deep-tanh", "KIND=adadelta", "KIND=frozen"]
# limit_s = 300
# ///
"""Trainings that learn in their own way, slowly, little or by other losses: nothing is wrong with any of them."""
from own_training import keras, knob, np, tf

kind, layers, ops = knob("KIND", "autoencoder"), keras.layers, keras.ops
keras.utils.set_random_seed(knob("SEED", 3))
random = np.random.default_rng(knob("SEED", 3))
x = random.normal(size=(1600, 12)).astype("float32")
y = (np.tanh(x[:, 0] * 2) + x[:, 1] * x[:, 2] > 0).astype("float32")


def classifier(*hidden, rule="adam", epochs=8, **more):
    model = keras.Sequential([*hidden, layers.Dense(1, activation="sigmoid")])
    model.compile(rule, "binary_crossentropy", metrics=["accuracy"])
    model.fit(x, y, epochs=epochs, batch_size=32, verbose=2, **more)
    return model


if kind == "autoencoder":
    pictures = random.uniform(size=(800, 64)).astype("float32") ** 2
    model = keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(64, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
    model.fit(pictures, pictures, epochs=8, verbose=2)
elif kind == "fine-tuning":
    model = classifier(layers.Dense(32, activation="relu"), epochs=20)
    model.save_weights("first.weights.h5")
    model.load_weights("first.weights.h5")
    model.compile(keras.optimizers.Adam(1e-7), "binary_crossentropy", metrics=["accuracy"])
    model.fit(x, y, epochs=8, batch_size=32, verbose=2)
elif kind == "linear-factors":
    users, things = random.integers(0, 40, 4000), random.integers(0, 30, 4000)
    taste = random.normal(size=(40, 3)) @ random.normal(size=(3, 30))
    one, two = keras.Input((1,)), keras.Input((1,))
    rows = [layers.Flatten()(layers.Embedding(size, 4)(part)) for size, part in ((40, one), (30, two))]
    model = keras.Model([one, two], layers.Dot(1)(rows))
    model.compile(keras.optimizers.Adam(0.02), "mse")
    model.fit([users[:, None], things[:, None]], taste[users, things].astype("float32"), epochs=8, verbose=2)
elif kind == "recurrent":
    sequences = random.normal(size=(400, 20, 3)).astype("float32")
    model = keras.Sequential([layers.LSTM(16), layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(sequences, sequences.sum(axis=(1, 2))[:, None] / 8, epochs=4, verbose=2)
elif kind == "attention":
    given = keras.Input((10, 8))
    mixed = layers.LayerNormalization()(given + layers.MultiHeadAttention(2, 4)(given, given))
    model = keras.Model(given, layers.Dense(1)(layers.GlobalAveragePooling1D()(mixed)))
    model.compile("adam", "mse")
    rows = random.normal(size=(400, 10, 8)).astype("float32")
    model.fit(rows, rows.mean(axis=(1, 2))[:, None] * 9, epochs=6, verbose=2)
elif kind == "vae":

    class Sampling(layers.Layer):
        def call(self, parts):
            mean, log_variance = parts
            self.add_loss(-0.01 * ops.mean(1 + log_variance - mean**2 - ops.exp(log_variance)))
            return mean + ops.exp(0.5 * log_variance) * keras.random.normal(ops.shape(mean))

    given = keras.Input((12,))
    hidden = layers.Dense(16, activation="relu")(given)
    code = Sampling()([layers.Dense(4)(hidden), layers.Dense(4)(hidden)])
    model = keras.Model(given, layers.Dense(12)(layers.Dense(16, activation="relu")(code)))
    model.compile("adam", "mse")
    model.fit(x, x, epochs=6, verbose=2)
elif kind == "gan":
    maker = keras.Sequential([keras.Input((4,)), layers.Dense(16, activation="relu"), layers.Dense(12)])
    judge = keras.Sequential([keras.Input((12,)), layers.Dense(16, activation="leaky_relu"), layers.Dense(1, activation="sigmoid")])
    judge.compile("adam", "binary_crossentropy")
    judge.train_on_batch(x[:32], np.ones((32, 1)))  # its step is compiled before it is frozen for the other model
    both = keras.Sequential([maker, judge])
    judge.trainable = False
    both.compile("adam", "binary_crossentropy")
    for step in range(150):
        noise = random.normal(size=(32, 4)).astype("float32")
        judge.train_on_batch(x[:32], np.ones((32, 1)))
        judge.train_on_batch(maker.predict(noise, verbose=0), np.zeros((32, 1)))
        both.train_on_batch(noise, np.ones((32, 1)))
elif kind == "contrastive":

    def loss(_, pairs):
        pairs = pairs / ops.sqrt(ops.sum(pairs**2, axis=-1, keepdims=True) + 1e-6)
        return keras.losses.sparse_categorical_crossentropy(ops.arange(ops.shape(pairs)[0]), pairs @ ops.transpose(pairs), from_logits=True)

    model = keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(8)])
    model.compile("adam", loss)
    model.fit(x, x, epochs=8, verbose=2)
elif kind == "warm-up":
    rate = keras.optimizers.schedules.CosineDecay(1e-7, 300, warmup_target=1e-3, warmup_steps=300)
    classifier(layers.Dense(32, activation="relu"), rule=keras.optimizers.Adam(rate))
elif kind == "at-optimum":
    model = keras.Sequential([layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
    model.build((None, 12))
    model.set_weights([np.ones((12, 1), "float32"), np.zeros(1, "float32")])
    model.fit(x, x.sum(axis=1, keepdims=True) + random.normal(size=(1600, 1)), epochs=8, verbose=2)
elif kind == "noise":
    y = (x[:, 0] + random.normal(size=1600) * 3 > 0).astype("float32")  # hardly anything can be learned
    classifier(layers.Dense(8, activation="relu"))
elif kind == "smoke-test":
    classifier(layers.Dense(8, activation="relu"), epochs=1, steps_per_epoch=4)
elif kind == "norm":
    classifier(layers.Dense(32), layers.BatchNormalization(), layers.ReLU(), epochs=4, validation_split=0.2)
elif kind == "sparse-relu":
    bias = keras.initializers.RandomUniform(-4.0, 0.5)
    classifier(layers.Dense(256, activation="relu", bias_initializer=bias), epochs=12)
elif kind == "dropout":
    classifier(layers.Dense(128, activation="relu"), layers.Dropout(0.5), layers.Dense(64, activation="relu"), layers.Dropout(0.5), epochs=12)
elif kind == "penalty":
    classifier(layers.Dense(64, activation="relu", kernel_regularizer=keras.regularizers.L2(0.01)), epochs=12)
elif kind == "zero-head":
    given = keras.Input((12,))
    hidden = layers.Dense(32, activation="relu")(given)
    mixed = hidden + layers.Dense(32, kernel_initializer="zeros")(layers.Dense(32, activation="relu")(hidden))
    model = keras.Model(given, layers.Dense(1, activation="sigmoid", kernel_initializer="zeros")(mixed))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(x, y, epochs=10, verbose=2)
elif kind == "deep-tanh":
    classifier(*[layers.Dense(32, activation="tanh") for _ in range(6)], rule=keras.optimizers.Adam(0.001), epochs=12)
elif kind == "adadelta":
    classifier(layers.Dense(32, activation="relu"), rule=keras.optimizers.Adadelta(1.0), epochs=12)
elif kind == "frozen":
    body = keras.Sequential([layers.Dense(400, activation="relu"), layers.Dense(200, activation="relu")])
    body.build((None, 12))
    body.trainable = False
    classifier(body, epochs=10)
else:
    raise SystemExit(f"no kind {kind}")
