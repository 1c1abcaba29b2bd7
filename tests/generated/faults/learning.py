"""Faults of weights and activations: the program runs, and does not learn."""

from __future__ import annotations

import random

from ..draft import Draft
from .registry import fault

_EACH_TORCH = (
    "for v_part in v_model.modules():\n    if isinstance(v_part, (nn.Linear, nn.Conv2d)):\n        {}"
)


def _hidden(draft: Draft, keras: str, torch: str) -> None:
    """Something for each hidden layer: keyword arguments in Keras, an initialisation in torch."""
    if "torch" in draft.features:
        draft.add("model_extra", _EACH_TORCH.format(torch))
    else:
        draft.put(hidden_kw=keras)


@fault(
    "dead-units",
    "loss-not-falling constant-initialisation vanishing-gradients",
    one_of="keras torch jax",
    without="detection text sequence",
)
def negative_biases(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-autoencoder-arrays-fit-tensorflow: the loss runs 0.6823 .. 0.5741."""
    value = rng.choice(["-20.0", "-30.0"])
    if "jax" in draft.features:
        draft.put(bias=f"jnp.full(b, {value} if b > 1 else 0.0)")
        return
    _hidden(
        draft,
        f", bias_initializer=keras.initializers.Constant({value})",
        f"nn.init.constant_(v_part.bias, {value})",
    )


@fault("saturated-units", "loss-not-falling vanishing-gradients", needs="dense", one_of="keras torch jax")
def huge_weights_under_tanh(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-multiclass-torch-dataset: the loss runs 187.7489 .. 153.0786."""
    act = rng.choice(["tanh", "sigmoid"])
    if "jax" in draft.features:
        draft.put(act=f"jax.nn.{act}", scale_of_weights="40.0")
        return
    _hidden(
        draft,
        ", kernel_initializer=keras.initializers.RandomNormal(stddev=40.0)",
        "nn.init.normal_(v_part.weight, std=40.0)",
    )
    draft.put(
        hidden_act=f', activation="{act}"' if "torch" not in draft.features else f"nn.{act.capitalize()}(),"
    )


@fault(
    "vanishing-gradients",
    "loss-not-falling saturated-units",
    needs="dense",
    one_of="keras torch jax",
    without="regression",
)
def deep_sigmoids(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-pydataset-fit-tensorflow: the loss runs 0.6888 .. 0.6856, accuracy 0.5631."""
    depth, width = rng.choice([12, 14]), 24
    if "jax" in draft.features:
        draft.put(act="jax.nn.sigmoid", scale_of_weights="jnp.sqrt(1.0 / a)", hidden=f"[{width}] * {depth}")
    elif "torch" in draft.features:
        draft.put(hidden_act="nn.Sigmoid(),")
        lines = draft.slots["model"].splitlines()
        width = int(lines[2].split(",")[1].strip(" )"))
        draft.put(
            body_extra=f"*[v_part for _ in range({depth}) for v_part in (nn.Linear({width}, {width}), nn.Sigmoid())],"
        )
    else:
        draft.put(hidden_act=', activation="sigmoid"')
        more = [f"keras.layers.Dense({width}<<hidden_act>><<hidden_kw>>)"] * depth
        draft.layers[1:1] = more


@fault(
    "exploding-gradients",
    "learning-rate-too-high loss-not-finite loss-not-falling",
    needs="dense",
    one_of="keras torch jax",
)
def deep_and_wide_weights(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-regression-by-hand: the loss runs 4.4e13 .. 6.2e12."""
    if "jax" in draft.features:
        draft.put(scale_of_weights="1.5", hidden="[64] * 8")
        return
    _hidden(
        draft,
        ", kernel_initializer=keras.initializers.RandomNormal(stddev=1.5)",
        "nn.init.normal_(v_part.weight, std=1.5)",
    )
    if "torch" in draft.features:
        width = int(draft.slots["model"].splitlines()[2].split(",")[1].strip(" )"))
        draft.put(
            body_extra=f"*[v_part for _ in range(7) for v_part in (nn.Linear({width}, {width}), nn.ReLU())],"
        )
    else:
        draft.layers[1:1] = ["keras.layers.Dense(64<<hidden_act>><<hidden_kw>>)"] * 7


@fault("no-hidden-activation", "", needs="dense binary", one_of="keras torch jax")
def linear_all_the_way(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-pydataset-fit-tensorflow: the loss runs 0.6316 .. 0.6097, accuracy 0.6508."""
    if "jax" in draft.features:
        draft.put(act="")
    else:
        draft.put(hidden_act="")


@fault("constant-initialisation", "loss-not-falling dead-units", needs="dense", one_of="keras torch jax")
def all_weights_equal(draft: Draft, rng: random.Random) -> None:
    """Seen on jax-regression-adam: the loss runs 1.3420 .. 1.3420."""
    value = rng.choice(["0.0", "0.0", "0.05"])
    if "jax" in draft.features:
        draft.replace("jax.random.normal(sub, (a, b)) * <<scale_of_weights>>", f"jnp.full((a, b), {value})")
    elif "torch" in draft.features:
        _hidden(draft, "", f"nn.init.constant_(v_part.weight, {value})\n        nn.init.zeros_(v_part.bias)")
    else:
        text = '"zeros"' if value == "0.0" else f"keras.initializers.Constant({value})"
        draft.put(hidden_kw=f", kernel_initializer={text}", head_kw=f", kernel_initializer={text}")
