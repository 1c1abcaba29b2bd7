"""Near misses with a loop of their own, whose loss need not fall to zero or at all: GAN, VAE, contrastive, reinforcement."""

from __future__ import annotations

import random

from ..draft import Draft, Piece, code
from ..words import ABOUT
from . import keras_loops, tasks
from .near import NEAR_MISSES, near

__all__ = ["NEAR_MISSES"]


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
