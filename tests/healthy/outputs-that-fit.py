# /// zoo
# cause = "healthy"
# variants = ["KIND=autoencoder-bce", "KIND=multi-label", "KIND=tanh", "KIND=softplus", "KIND=poisson", "KIND=hinge", "KIND=quantile", "KIND=soft-labels", "KIND=one-hot-binary", "KIND=sigmoid-mse", "KIND=counts", "KIND=logits", "KIND=sample-weights", "KIND=smoke", "KIND=optimum", "KIND=hard", "KIND=rare"]
# limit_s = 300
# ///
"""Pairs of output, loss and labels that look odd and are right; KIND chooses one."""
from own_training import keras, knob, np

kind = knob("KIND", "autoencoder-mse")
random = np.random.default_rng(0)
x = random.normal(size=(640, 6)).astype("float32")
total = x.sum(axis=1, keepdims=True)
ids = np.digitize(np.ravel(total), [-2.0, 2.0])
pixels = 1 / (1 + np.exp(-x @ random.normal(size=(6, 16)))).astype("float32")
one_hot = np.eye(3, dtype="float32")[ids]
epochs, fit = 12, {}


def quantile(y_true, y_pred):
    difference = y_true - y_pred
    return keras.ops.mean(keras.ops.maximum(0.9 * difference, -0.1 * difference))


tasks = {
    "autoencoder-mse": (pixels, pixels, 16, "sigmoid", "mse"),
    "autoencoder-bce": (pixels, pixels, 16, "sigmoid", "binary_crossentropy"),
    "multi-label": (x, (x > 0.5).astype("float32"), 6, "sigmoid", "binary_crossentropy"),
    "tanh": (x, np.tanh(total), 1, "tanh", "mse"),
    "softplus": (x, np.exp(total / 3), 1, "softplus", "mse"),
    "poisson": (x, random.poisson(np.exp(total / 3)).astype("float32"), 1, "exponential", "poisson"),
    "hinge": (x, np.sign(total), 1, "tanh", "hinge"),
    "quantile": (x, total, 1, None, quantile),
    "soft-labels": (x, np.exp(2 * x[:, :3]) / np.exp(2 * x[:, :3]).sum(axis=1, keepdims=True), 3, "softmax", "categorical_crossentropy"),
    "one-hot-binary": (x, one_hot, 3, "sigmoid", "binary_crossentropy"),
    "sigmoid-mse": (x, (total > 0).astype("float32"), 1, "sigmoid", "mse"),
    "counts": (x, np.clip(np.round(total + 8), 0, 20), 1, None, "mse"),
    "logits": (x, ids, 3, None, keras.losses.SparseCategoricalCrossentropy(from_logits=True)),
    "sample-weights": (x, (total > 0).astype("float32"), 1, "sigmoid", "binary_crossentropy"),
    "smoke": (x[:64], (total[:64] > 0).astype("float32"), 1, "sigmoid", "binary_crossentropy"),
    "optimum": (x, random.normal(size=(640, 1)) * 0.01, 1, None, "mse"),
    "hard": (x, (total + 4 * random.normal(size=total.shape) > 0).astype("float32"), 1, "sigmoid", "binary_crossentropy"),
    "rare": (x, (total > 4.5).astype("float32"), 1, "sigmoid", "binary_crossentropy"),
}
inputs, targets, units, activation, loss = tasks[kind]
if kind == "sample-weights":
    fit["sample_weight"] = random.uniform(0.5, 1.5, len(inputs))
if kind == "smoke":
    epochs = 1
layers = keras.layers
model = keras.Sequential([layers.Dense(32, activation="relu"), layers.Dense(units, activation=activation)])
model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"] if kind.startswith("autoencoder") or "entropy" in str(loss) else [])
model.fit(inputs, targets, epochs=epochs, verbose=2, **fit)
