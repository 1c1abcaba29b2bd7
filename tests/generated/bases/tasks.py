"""Tasks for Keras: synthetic data that can be learned, a small network, a loss.

Every data piece ends with arrays `v_x, v_y` for training and `v_xval, v_yval` for validation. `<<data_extra>>` is where a
fault changes the arrays before the split. Layers have the slots `hidden_act` and `hidden_kw`; the last one
`units`, `head_act` and `head_kw`.
"""

from __future__ import annotations

import random

from ..draft import Draft, Piece, code
from ..words import ABOUT

SPLIT = """
<<data_extra>>
v_split = int(0.8 * len(v_x))
v_xval, v_yval = v_x[v_split:], v_y[v_split:]
v_x, v_y = v_x[:v_split], v_y[:v_split]
<<split_extra>>
"""
ARRAYS = ["v_x", "v_y", "v_xval", "v_yval"]
HEAD = "keras.layers.Dense(<<units>><<head_act>><<head_kw>>)"


def draft(name: str, features: str, about: str, rng: random.Random, data: str) -> Draft:
    one = Draft(name, {"xy", *features.split()}, rng.choice(ABOUT[about]))
    one.constants = {"SEED": str(rng.randrange(1000)), "SAMPLES": "2000", "BATCH": rng.choice(["32", "64"]),
                     "EPOCHS": str(rng.randrange(8, 13)), "LR": rng.choice(["1e-3", "0.002", "3e-3"])}  # fmt: skip
    one.pieces = [Piece("data", [], code(data) + SPLIT.rstrip(), ARRAYS)]
    one.slots = {"hidden_act": ', activation="relu"', "hidden_kw": "", "head_kw": "", "metric": ""}
    return one


def dense(rng: random.Random, depth: int = 0) -> list[str]:
    width = rng.choice([32, 48, 64])
    depth = depth or rng.choice([2, 2, 3])
    sizes = [max(16, width // 2**n) for n in range(depth)]
    return [f"keras.layers.Dense({size}<<hidden_act>><<hidden_kw>>)" for size in sizes]


def binary(rng: random.Random) -> Draft:
    n = rng.choice([10, 12, 16])
    one = draft("binary", "tabular binary dense classification numeric", "binary", rng, f"""
        v_rng = np.random.default_rng(K_SEED)
        v_x = v_rng.normal(size=(K_SAMPLES, {n})).astype("float32")
        v_y = (v_x[:, 0] * v_x[:, 1] + v_x[:, 2] ** 2 - 0.6 * v_x[:, 3] > 0.5).astype("float32")
        """)  # fmt: skip
    one.constants["SAMPLES"] = rng.choice(["3000", "4000"])
    one.input_shape, one.layers = f"({n},)", [*dense(rng), HEAD]
    one.slots |= {"units": "1", "head_act": ', activation="sigmoid"', "loss": "keras.losses.BinaryCrossentropy()",
                  "metric": '"accuracy"'}  # fmt: skip
    return one


def multiclass(rng: random.Random) -> Draft:
    n, k = rng.choice([12, 16, 20]), rng.choice([4, 5, 6])
    one = draft("multiclass", "tabular multiclass dense classification numeric", "multiclass", rng, f"""
        v_rng = np.random.default_rng(K_SEED)
        v_centres = v_rng.normal(size=(K_CLASSES * 3, {n})) * 1.1
        v_which = v_rng.integers(0, K_CLASSES * 3, K_SAMPLES)
        v_x = (v_centres[v_which] + v_rng.normal(size=(K_SAMPLES, {n})) * 0.7).astype("float32")
        v_y = (v_which % K_CLASSES).astype("int64")
        """)  # fmt: skip
    one.constants |= {"CLASSES": str(k), "SAMPLES": "3000"}
    one.input_shape, one.layers = f"({n},)", [*dense(rng), HEAD]
    one.slots |= {"units": "K_CLASSES", "head_act": ', activation="softmax"', "metric": '"accuracy"',
                  "loss": "keras.losses.SparseCategoricalCrossentropy()"}  # fmt: skip
    return one


def multilabel(rng: random.Random) -> Draft:
    n, k = rng.choice([16, 24]), rng.choice([5, 6, 8])
    one = draft("multilabel", "tabular multilabel dense numeric", "multilabel", rng, f"""
        v_rng = np.random.default_rng(K_SEED)
        v_x = v_rng.normal(size=(K_SAMPLES, {n})).astype("float32")
        v_w = v_rng.normal(size=({n}, {k}))
        v_y = (np.tanh(v_x @ v_w) + 0.2 * v_rng.normal(size=(K_SAMPLES, {k})) > 0.1).astype("float32")
        """)  # fmt: skip
    one.constants["SAMPLES"] = "3000"
    one.input_shape, one.layers = f"({n},)", [*dense(rng, 2), HEAD]
    one.slots |= {"units": str(k), "head_act": ', activation="sigmoid"', "loss": "keras.losses.BinaryCrossentropy()",
                  "metric": '"binary_accuracy"'}  # fmt: skip
    return one


def regression(rng: random.Random) -> Draft:
    n = rng.choice([8, 10, 13])
    one = draft("regression", "tabular regression dense numeric", "regression", rng, f"""
        v_rng = np.random.default_rng(K_SEED)
        v_x = v_rng.normal(size=(K_SAMPLES, {n})).astype("float32")
        v_y = np.sin(v_x[:, 0]) + 0.8 * v_x[:, 1] * v_x[:, 2] - 0.5 * v_x[:, 3] + 0.1 * v_rng.normal(size=K_SAMPLES)
        v_y = v_y.astype("float32")[:, None]
        """)  # fmt: skip
    one.constants["SAMPLES"] = "3000"
    one.input_shape, one.layers = f"({n},)", [*dense(rng), HEAD]
    one.slots |= {"units": "1", "head_act": "", "loss": "keras.losses.MeanSquaredError()", "metric": '"mae"'}
    return one


def _convolutions(rng: random.Random) -> list[str]:
    width = rng.choice([8, 12, 16])
    return [
        f'keras.layers.Conv2D({width}, 3, padding="same"<<hidden_act>><<hidden_kw>>)', "keras.layers.MaxPooling2D()",
        f'keras.layers.Conv2D({2 * width}, 3, padding="same"<<hidden_act>><<hidden_kw>>)', "keras.layers.MaxPooling2D()",
        "keras.layers.Flatten()", "keras.layers.Dense(32<<hidden_act>><<hidden_kw>>)",
    ]  # fmt: skip


def image_classes(rng: random.Random) -> Draft:
    side = rng.choice([20, 24])
    one = draft("image_classes", "image multiclass conv classification", "image", rng, f"""
        v_rng = np.random.default_rng(K_SEED)
        v_y = v_rng.integers(0, K_CLASSES, K_SAMPLES)
        v_x = v_rng.integers(0, 60, size=(K_SAMPLES, {side}, {side}, 1))
        for i, k in enumerate(v_y):
            a, b = v_rng.integers(2, {side} - 10, 2)
            if k == 0:
                v_x[i, a:a + 8, b:b + 2] += 160
            elif k == 1:
                v_x[i, a:a + 2, b:b + 8] += 160
            elif k == 2:
                v_x[i, a:a + 6, b:b + 6] += 120
            else:
                v_x[i, np.arange(a, a + 8), np.arange(b, b + 8)] += 180
        v_x = v_x.astype("float32")<<scale>>
        """)  # fmt: skip
    one.constants |= {"CLASSES": "4", "SAMPLES": "1200", "EPOCHS": str(rng.randrange(6, 9))}
    one.input_shape, one.layers = f"({side}, {side}, 1)", [*_convolutions(rng), HEAD]
    one.slots |= {"units": "K_CLASSES", "head_act": ', activation="softmax"', "scale": " / 255.0",
                  "loss": "keras.losses.SparseCategoricalCrossentropy()", "metric": '"accuracy"'}  # fmt: skip
    return one


def image_binary(rng: random.Random) -> Draft:
    side = rng.choice([24, 28])
    one = draft("image_binary", "image binary conv classification", "image", rng, f"""
        v_rng = np.random.default_rng(K_SEED)
        v_y = v_rng.integers(0, 2, K_SAMPLES).astype("float32")
        v_x = v_rng.integers(20, 90, size=(K_SAMPLES, {side}, {side}, 3))
        v_rows, v_cols = np.mgrid[0:{side}, 0:{side}]
        for i in range(K_SAMPLES):
            a, b, s = *v_rng.integers(7, {side} - 7, 2), v_rng.integers(4, 7)
            if v_y[i]:
                v_x[i, (v_rows - a) ** 2 + (v_cols - b) ** 2 <= s * s] += 110
            else:
                v_x[i, a - s + 1:a + s - 1, b - s + 1:b + s - 1] += 110
                v_x[i, a - 1:a + 1, b - 1:b + 1] -= 100
        v_x = v_x.astype("float32")<<scale>>
        """)  # fmt: skip
    one.constants |= {"SAMPLES": "1000", "EPOCHS": str(rng.randrange(7, 10)), "LR": "0.002"}
    one.input_shape, one.layers = f"({side}, {side}, 3)", [*_convolutions(rng), HEAD]
    one.slots |= {"units": "1", "head_act": ', activation="sigmoid"', "scale": " / 255.0",
                  "loss": "keras.losses.BinaryCrossentropy()", "metric": '"accuracy"'}  # fmt: skip
    return one


def segmentation(rng: random.Random) -> Draft:
    one = draft("segmentation", "image segmentation conv", "segmentation", rng, """
        v_rng = np.random.default_rng(K_SEED)
        v_rows, v_cols = np.mgrid[0:32, 0:32]
        v_x = v_rng.normal(0.3, 0.1, size=(K_SAMPLES, 32, 32, 1)).astype("float32")
        v_y = np.zeros((K_SAMPLES, 32, 32, 1), "float32")
        for i in range(K_SAMPLES):
            a, b, s = *v_rng.integers(8, 24, 2), v_rng.integers(4, 8)
            v_inside = (v_rows - a) ** 2 + (v_cols - b) ** 2 <= s * s
            v_y[i, v_inside] = 1.0
            v_x[i, v_inside] += 0.3
        """)  # fmt: skip
    one.constants |= {"SAMPLES": "500", "EPOCHS": "6", "BATCH": "16"}
    width = rng.choice([8, 12])
    one.input_shape = "(32, 32, 1)"
    one.layers = [
        f'keras.layers.Conv2D({width}, 3, padding="same"<<hidden_act>><<hidden_kw>>)', "keras.layers.MaxPooling2D()",
        f'keras.layers.Conv2D({2 * width}, 3, padding="same"<<hidden_act>><<hidden_kw>>)',
        "keras.layers.UpSampling2D()",
        f'keras.layers.Conv2D({width}, 3, padding="same"<<hidden_act>><<hidden_kw>>)',
        "keras.layers.Conv2D(<<units>>, 1<<head_act>><<head_kw>>)",
    ]  # fmt: skip
    one.slots |= {"units": "1", "head_act": ', activation="sigmoid"', "loss": "keras.losses.BinaryCrossentropy()",
                  "metric": '"binary_accuracy"'}  # fmt: skip
    return one


def sequence(rng: random.Random) -> Draft:
    length, k = rng.choice([40, 48]), 3
    cell = rng.choice(["GRU(24)", "LSTM(20)", "Bidirectional"])
    one = draft("sequence", "sequence multiclass classification numeric", "sequence", rng, f"""
        v_rng = np.random.default_rng(K_SEED)
        v_y = v_rng.integers(0, K_CLASSES, K_SAMPLES)
        v_time = np.arange({length}) / {length}
        v_freq = np.array([2.0, 4.0, 7.0])[v_y][:, None]
        v_x = np.sin(2 * np.pi * (v_freq * v_time + v_rng.random((K_SAMPLES, 1))))
        v_x = (v_x + 0.3 * v_rng.normal(size=v_x.shape)).astype("float32")[:, :, None]
        """)  # fmt: skip
    one.constants |= {"CLASSES": str(k), "SAMPLES": "900", "EPOCHS": "7", "LR": "3e-3"}
    layer = "Bidirectional(keras.layers.GRU(16))" if cell == "Bidirectional" else cell
    one.input_shape = f"({length}, 1)"
    one.layers = ["keras.layers.Conv1D(16, 5, strides=2<<hidden_act>><<hidden_kw>>)", f"keras.layers.{layer}",
                  "keras.layers.Dense(16<<hidden_act>><<hidden_kw>>)", HEAD]  # fmt: skip
    one.slots |= {"units": "K_CLASSES", "head_act": ', activation="softmax"', "metric": '"accuracy"',
                  "loss": "keras.losses.SparseCategoricalCrossentropy()"}  # fmt: skip
    return one


def text(rng: random.Random) -> Draft:
    one = draft("text", "sequence text binary classification", "text", rng, """
        v_rng = np.random.default_rng(K_SEED)
        v_x = v_rng.integers(20, 500, size=(K_SAMPLES, 30))
        v_y = v_rng.integers(0, 2, K_SAMPLES).astype("float32")
        for i in range(K_SAMPLES):
            v_where = v_rng.choice(30, 4, replace=False)
            v_x[i, v_where] = v_rng.integers(0, 10, 4) + 10 * int(v_y[i])
        """)  # fmt: skip
    one.constants |= {"SAMPLES": "1500", "EPOCHS": "6", "LR": "3e-3"}
    one.input_shape = "(30,)"
    one.layers = ["keras.layers.Embedding(500, 16)", "keras.layers.GlobalAveragePooling1D()",
                  "keras.layers.Dense(24<<hidden_act>><<hidden_kw>>)", HEAD]  # fmt: skip
    one.slots |= {"units": "1", "head_act": ', activation="sigmoid"', "loss": "keras.losses.BinaryCrossentropy()",
                  "metric": '"accuracy"'}  # fmt: skip
    return one


def forecast(rng: random.Random) -> Draft:
    one = draft("forecast", "sequence regression numeric", "regression", rng, """
        v_rng = np.random.default_rng(K_SEED)
        v_time = np.arange(K_SAMPLES + 40)
        v_series = np.sin(v_time / 9) + 0.5 * np.sin(v_time / 3.7) + 0.1 * v_rng.normal(size=v_time.size)
        v_x = np.stack([v_series[i:i + 36] for i in range(K_SAMPLES)]).astype("float32")[:, :, None]
        v_y = v_series[38:38 + K_SAMPLES].astype("float32")[:, None]
        v_order = v_rng.permutation(K_SAMPLES)
        v_x, v_y = v_x[v_order], v_y[v_order]
        """)  # fmt: skip
    one.constants |= {"SAMPLES": "1200", "EPOCHS": "7", "LR": "2e-3"}
    one.input_shape = "(36, 1)"
    one.layers = ["keras.layers.Conv1D(16, 5<<hidden_act>><<hidden_kw>>)",
                  f"keras.layers.{rng.choice(['GRU(16)', 'LSTM(16)'])}",
                  "keras.layers.Dense(16<<hidden_act>><<hidden_kw>>)", HEAD]  # fmt: skip
    one.slots |= {"units": "1", "head_act": "", "loss": "keras.losses.MeanSquaredError()", "metric": '"mae"'}
    return one


def autoencoder(rng: random.Random) -> Draft:
    one = draft("autoencoder", "image autoencoder", "autoencoder", rng, """
        v_rng = np.random.default_rng(K_SEED)
        v_rows, v_cols = np.mgrid[0:16, 0:16]
        v_centre = v_rng.uniform(4, 12, size=(K_SAMPLES, 2, 1, 1))
        v_size = v_rng.uniform(2, 5, size=(K_SAMPLES, 1, 1))
        v_far = (v_rows - v_centre[:, 0]) ** 2 + (v_cols - v_centre[:, 1]) ** 2
        v_x = np.exp(-v_far / (2 * v_size**2)).astype("float32").reshape(K_SAMPLES, 256)
        v_y = v_x
        """)  # fmt: skip
    one.constants |= {"SAMPLES": "1500", "EPOCHS": "10", "LR": "2e-3"}
    one.input_shape = "(256,)"
    one.layers = ["keras.layers.Dense(64<<hidden_act>><<hidden_kw>>)", "keras.layers.Dense(8<<hidden_act>><<hidden_kw>>)",
                  "keras.layers.Dense(64<<hidden_act>><<hidden_kw>>)", HEAD]  # fmt: skip
    loss = rng.choice(["keras.losses.MeanSquaredError()", "keras.losses.BinaryCrossentropy()"])
    one.slots |= {"units": "256", "head_act": ', activation="sigmoid"', "loss": loss}
    return one
