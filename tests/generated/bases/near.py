"""Near misses: healthy programs that a careless tool would blame."""

from __future__ import annotations

import random
from collections.abc import Callable

from ..draft import Draft, code
from . import keras_loops, tasks, torch_bases

NEAR_MISSES: dict[str, Callable[[random.Random], Draft]] = {}


def near(make: Callable[[random.Random], Draft]) -> Callable[[random.Random], Draft]:
    NEAR_MISSES[make.__name__.replace("_", "-")] = make
    return make


def _fit(task: str, feed: str, rng: random.Random) -> Draft:
    one: Draft = getattr(tasks, task)(rng)
    one.features |= {"tensorflow"}
    getattr(keras_loops, f"feed_{feed}")(one)
    keras_loops.model_piece(one)
    keras_loops.compile_and_fit(one, rng)
    return one


@near
def hard_task(rng: random.Random) -> Draft:
    """A third of the labels is noise: the loss falls a little, and that is all that can be had."""
    one = _fit("binary", rng.choice(["arrays", "tfdata"]), rng)
    one.put(
        data_extra='v_flip = v_rng.random(len(v_y)) < 0.3\nv_y = np.where(v_flip, 1 - v_y, v_y).astype("float32")'
    )
    one.constants |= {"SAMPLES": "6000", "EPOCHS": "6", "LR": "1e-3"}
    return one


@near
def noisy_loss(rng: random.Random) -> Draft:
    """Batches of eight and noisy targets: the loss jumps, and falls."""
    one = torch_bases.torch_base("regression", "dataloader", rng)
    one.put(data_extra="v_y = v_y + 0.4 * v_rng.normal(size=v_y.shape)")
    one.constants |= {"BATCH": "8", "SAMPLES": "1200", "EPOCHS": "8"}
    return one


@near
def fine_tuning(rng: random.Random) -> Draft:
    """A second phase with a tiny rate and frozen first layers."""
    one = _fit("multiclass", "arrays", rng)
    one.put(train_after=code("""
        for v_part in v_model.layers[:-1]:
            v_part.trainable = False
        v_model.compile(optimizer=keras.optimizers.Adam(1e-5), loss=<<loss>><<metrics>>)
        v_model.fit(<<fit_data>>epochs=4, verbose=<<verbose>>)
        """))  # fmt: skip
    one.constants |= {"EPOCHS": "7", "SAMPLES": "2000"}
    return one


@near
def sigmoid_autoencoder(rng: random.Random) -> Draft:
    one = _fit("autoencoder", rng.choice(["arrays", "tfdata"]), rng)
    one.put(loss="keras.losses.BinaryCrossentropy()")
    return one


@near
def tanh_regression(rng: random.Random) -> Draft:
    """Targets are scaled to [-1, 1], where tanh can reach them."""
    one = _fit("regression", rng.choice(["arrays", "tfdata", "generator"]), rng)
    one.put(data_extra="v_y = np.tanh(0.5 * v_y)", head_act=', activation="tanh"')
    return one


@near
def many_labels(rng: random.Random) -> Draft:
    """Sigmoids over several labels, some of them rare."""
    one = _fit("multilabel", rng.choice(["arrays", "tfdata"]), rng)
    one.put(data_extra="v_y[:, 0] *= v_rng.random(len(v_y)) < 0.4")
    return one


@near
def early_end(rng: random.Random) -> Draft:
    """EarlyStopping does what it was asked to do, after the model has learned."""
    one = _fit("binary", "arrays", rng)
    one.features |= {"allowed:early-stopping"}
    one.put(
        fit_kw=', callbacks=[keras.callbacks.EarlyStopping(monitor="val_loss", patience=3, restore_best_weights=True)]'
    )
    one.constants |= {"EPOCHS": "60", "SAMPLES": "1500", "LR": "5e-3"}
    return one


@near
def target_reached(rng: random.Random) -> Draft:
    """A callback ends the training when the loss is good enough, and says so."""
    one = _fit("multiclass", "tfdata", rng)
    one.features |= {"allowed:stopped-by-callback"}
    one.defs.append(code("""
        class c_Hook(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                if logs["loss"] < 0.05:
                    print("good enough after epoch", epoch + 1)
                    self.model.stop_training = True
        """))  # fmt: skip
    one.put(fit_kw=", callbacks=[c_Hook()]")
    one.constants |= {"EPOCHS": "50", "SAMPLES": "2000", "LR": "3e-3"}
    return one


@near
def harmless_words(rng: random.Random) -> Draft:
    """The log mentions errors of other days."""
    one = rng.choice(
        [
            lambda: _fit("regression", "arrays", rng),
            lambda: torch_bases.torch_base("binary", "dataloader", rng),
        ]
    )()
    lines = ['SAY("note: batch 512 ran out of memory on the laptop, 64 is fine")',
             'SAY("last week: No space left on device, old checkpoints were deleted since")',
             'SAY("tip: if you see a CUDA out of memory error, use a smaller batch")',
             'SAY("changelog: fixed NaN loss and a Segmentation fault in the reader")']  # fmt: skip
    one.add("model_extra", "\n".join(rng.sample(lines, 2)))
    return one


@near
def steady_input(rng: random.Random) -> Draft:
    """Input that takes its time, less than the step does."""
    one = _fit("image_classes", "generator", rng)
    one.put(item_extra="time.sleep(0.004)")
    one.constants |= {"BATCH": "64", "EPOCHS": "5"}
    one.layers[0] = (
        one.layers[0]
        .replace("Conv2D(8", "Conv2D(32")
        .replace("Conv2D(12", "Conv2D(32")
        .replace("Conv2D(16", "Conv2D(32")
    )
    return one


@near
def long_validation(rng: random.Random) -> Draft:
    """The validation set is ten times the training set."""
    one = _fit("regression", "tfdata", rng)
    one.replace("int(0.8 * len(v_x))", "int(0.09 * len(v_x))")
    one.constants |= {"SAMPLES": "20000", "EPOCHS": "8", "BATCH": "16", "LR": "3e-3"}
    return one


@near
def regularised(rng: random.Random) -> Draft:
    """Dropout of a half, a small penalty, batch normalisation on ordinary batches."""
    one = _fit("multiclass", "tfdata", rng)
    one.put(hidden_kw=", kernel_regularizer=keras.regularizers.L2(1e-4)")
    one.layers[1:1] = ["keras.layers.BatchNormalization()", "keras.layers.Dropout(0.4)"]
    return one


@near
def rate_schedule(rng: random.Random) -> Draft:
    """A cosine schedule that ends near zero, at the end of the training."""
    one = _fit("multiclass", "arrays", rng)
    one.constants |= {"EPOCHS": "8", "SAMPLES": "2000", "BATCH": "32"}
    one.put(lr="keras.optimizers.schedules.CosineDecay(5e-3, decay_steps=400)")
    return one


@near
def mild_imbalance(rng: random.Random) -> Draft:
    """Fifteen percent are positive, and it learns to find them."""
    one = _fit("binary", "arrays", rng)
    one.put(data_extra="v_keep = (v_y == 0) | (v_rng.random(len(v_y)) < 0.25)\nv_x, v_y = v_x[v_keep], v_y[v_keep]",
            fit_kw=", class_weight={0: 1.0, 1: 3.0}")  # fmt: skip
    one.constants |= {"SAMPLES": "5000"}
    return one
