"""Near misses: healthy programs that a careless tool would blame."""

from __future__ import annotations

import random
from collections.abc import Callable

from ..draft import Draft, Piece, code
from ..words import ABOUT
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


def _own(
    name: str, features: str, rng: random.Random, constants: dict[str, str], imports: list[str]
) -> Draft:
    one = Draft(name, set(features.split()), rng.choice(ABOUT["other"]), imports=imports)
    one.constants = {"SEED": str(rng.randrange(1000)), **constants}
    return one


@near
def adversarial(rng: random.Random) -> Draft:
    """A GAN in torch: its two losses balance each other and do not fall."""
    one = _own(
        "gan",
        "torch loop",
        rng,
        {"STEPS": "700", "BATCH": "64", "LR": "1e-3"},
        ["import torch", "from torch import nn"],
    )
    model = code("""
        torch.manual_seed(K_SEED)
        v_maker = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
        v_judge = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        """)
    train = code("""
        v_lossfn = nn.BCEWithLogitsLoss()
        v_opta = torch.optim.Adam(v_maker.parameters(), lr=K_LR, betas=(0.5, 0.99))
        v_optb = torch.optim.Adam(v_judge.parameters(), lr=K_LR, betas=(0.5, 0.99))
        v_one, v_zero = torch.ones(K_BATCH, 1), torch.zeros(K_BATCH, 1)
        for v_step in range(K_STEPS):
            v_angle = torch.rand(K_BATCH) * 6.283
            v_real = torch.stack([v_angle.cos(), v_angle.sin()], 1) + 0.05 * torch.randn(K_BATCH, 2)
            v_fake = v_maker(torch.randn(K_BATCH, 8))
            v_lossb = v_lossfn(v_judge(v_real), 0.9 * v_one) + v_lossfn(v_judge(v_fake.detach()), v_zero)
            v_optb.zero_grad()
            v_lossb.backward()
            v_optb.step()
            v_lossa = v_lossfn(v_judge(v_fake), v_one)
            v_opta.zero_grad()
            v_lossa.backward()
            v_opta.step()
            if v_step % 100 == 0:
                SAY("step {} generator loss {:.3f} discriminator loss {:.3f}", v_step, v_lossa.item(), v_lossb.item())
        """)
    finish = 'v_radius = v_maker(torch.randn(500, 8)).norm(dim=1)\nSAY("mean radius {:.3f}", v_radius.mean().item())'
    one.pieces = [Piece("model", [], model, ["v_maker", "v_judge"]), Piece("train", ["v_maker", "v_judge"], train, []),
                  Piece("finish", ["v_maker"], finish, [])]  # fmt: skip
    return one


@near
def variational(rng: random.Random) -> Draft:
    """A VAE: the loss is a sum of two parts, and one of them rises."""
    one = tasks.autoencoder(rng)
    one.features |= {"tensorflow"}
    one.slots["loss"] = "None"
    keras_loops.feed_tfdata(one)
    one.layers = []
    one.slots["model"] = code("""
        v_encoder = keras.Sequential([keras.Input(shape=(256,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(8)])
        v_decoder = keras.Sequential([keras.Input(shape=(4,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(256)])
        """)
    one.pieces.append(Piece("model", [], "<<model>>", ["v_encoder", "v_decoder"]))
    train = code("""
        v_opt = keras.optimizers.Adam(K_LR)
        v_vars = v_encoder.trainable_variables + v_decoder.trainable_variables

        @tf.function
        def f_step(v_xb):
            with tf.GradientTape() as v_tape:
                v_mean, v_logvar = tf.split(v_encoder(v_xb, training=True), 2, axis=1)
                v_code = v_mean + tf.exp(0.5 * v_logvar) * tf.random.normal(tf.shape(v_mean))
                v_out = v_decoder(v_code, training=True)
                v_rec = tf.reduce_mean(tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=v_xb, logits=v_out), 1))
                v_kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + v_logvar - v_mean**2 - tf.exp(v_logvar), 1))
                v_loss = v_rec + v_kl
            v_opt.apply_gradients(zip(v_tape.gradient(v_loss, v_vars), v_vars))
            return v_loss, v_kl

        for v_epoch in range(K_EPOCHS):
            for v_xb, v_yb in v_train:
                v_loss, v_kl = f_step(v_xb)
            SAY("epoch {} loss {:.3f} kl {:.3f}", v_epoch + 1, float(v_loss), float(v_kl))
        """)
    one.pieces.append(Piece("train", ["v_encoder", "v_decoder", "v_train"], train, ["v_loss"]))
    one.pieces.append(Piece("finish", ["v_loss"], 'SAY("last loss {:.3f}", float(v_loss))', []))
    return one


@near
def contrastive(rng: random.Random) -> Draft:
    """InfoNCE in torch: every sample is its own class within the batch."""
    one = _own("contrastive", "torch loop", rng, {"STEPS": "400", "BATCH": "64", "LR": "2e-3", "SAMPLES": "1500"},
               ["import torch", "import torch.nn.functional as F", "from torch import nn"])  # fmt: skip
    data = code("""
        torch.manual_seed(K_SEED)
        v_hid = torch.randn(K_SAMPLES, 6)
        v_mix = torch.randn(6, 24)
        v_x = torch.tanh(v_hid @ v_mix)
        """)
    model = "v_model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))"
    train = code("""
        v_opt = torch.optim.Adam(v_model.parameters(), lr=K_LR)
        for v_step in range(K_STEPS):
            v_xb = v_x[torch.randint(0, len(v_x), (K_BATCH,))]
            v_left = F.normalize(v_model(v_xb + 0.3 * torch.randn_like(v_xb)), dim=1)
            v_right = F.normalize(v_model(v_xb + 0.3 * torch.randn_like(v_xb)), dim=1)
            v_loss = F.cross_entropy(v_left @ v_right.T / 0.2, torch.arange(K_BATCH))
            v_opt.zero_grad()
            v_loss.backward()
            v_opt.step()
            if v_step % 50 == 0:
                SAY("step {} loss {:.4f}", v_step, v_loss.item())
        """)
    one.pieces = [Piece("data", [], data, ["v_x"]), Piece("model", [], model, ["v_model"]),
                  Piece("train", ["v_model", "v_x"], train, ["v_loss"]), Piece("finish", ["v_loss"], 'SAY("end {:.4f}", v_loss.item())', [])]  # fmt: skip
    return one


@near
def reinforcement(rng: random.Random) -> Draft:
    """REINFORCE on a small choice task: the reward rises, the loss says nothing."""
    one = _own(
        "reinforcement",
        "torch loop",
        rng,
        {"STEPS": "500", "BATCH": "64", "LR": "5e-3"},
        ["import torch", "from torch import nn"],
    )
    model = (
        "torch.manual_seed(K_SEED)\nv_policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))"
    )
    train = code("""
        v_opt = torch.optim.Adam(v_policy.parameters(), lr=K_LR)
        v_mean = 0.0
        for v_step in range(K_STEPS):
            v_state = torch.randn(K_BATCH, 4)
            v_best = torch.stack([v_state[:, 0], v_state[:, 1], -v_state[:, 0] - v_state[:, 1]], 1).argmax(1)
            v_choice = torch.distributions.Categorical(logits=v_policy(v_state))
            v_action = v_choice.sample()
            v_reward = (v_action == v_best).float()
            v_loss = -(v_choice.log_prob(v_action) * (v_reward - v_mean)).mean()
            v_mean = 0.9 * v_mean + 0.1 * v_reward.mean().item()
            v_opt.zero_grad()
            v_loss.backward()
            v_opt.step()
            if v_step % 50 == 0:
                SAY("update {} loss {:.4f} reward {:.3f}", v_step, v_loss.item(), v_mean)
        """)
    one.pieces = [Piece("model", [], model, ["v_policy"]), Piece("train", ["v_policy"], train, ["v_mean"]),
                  Piece("finish", ["v_mean"], 'SAY("mean reward {:.3f}", v_mean)', [])]  # fmt: skip
    return one
