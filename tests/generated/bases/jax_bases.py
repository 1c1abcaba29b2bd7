"""Plain JAX: parameters as a list, jax.grad, updates by hand (SGD, momentum or Adam)."""

from __future__ import annotations

import random

from ..draft import Draft, Piece, code
from . import tasks

_LOSSES = {
    "binary": ("1", "jnp.mean(jnp.maximum(v_out, 0) - v_out * v_yb + jnp.log1p(jnp.exp(-jnp.abs(v_out))))"),
    "multiclass": (
        "K_CLASSES",
        "-jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(v_out), v_yb[:, None], axis=1))",
    ),
    "regression": ("1", "jnp.mean((v_out - v_yb) ** 2)"),
    "autoencoder": ("256", "jnp.mean((v_out - v_yb) ** 2)"),
}

_UPDATES = {
    "sgd": ("", "v_params = jax.tree_util.tree_map(lambda p, g: p - <<lr>> * g, v_params, v_grads)", "0.1"),
    "momentum": (
        "v_speed = jax.tree_util.tree_map(jnp.zeros_like, v_params)",
        "v_speed = jax.tree_util.tree_map(lambda v, g: 0.9 * v + g, v_speed, v_grads)\n"
        "v_params = jax.tree_util.tree_map(lambda p, v: p - <<lr>> * v, v_params, v_speed)",
        "0.02",
    ),
    "adam": (
        "v_m1 = jax.tree_util.tree_map(jnp.zeros_like, v_params)\n"
        "v_m2 = jax.tree_util.tree_map(jnp.zeros_like, v_params)",
        "v_m1 = jax.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, v_m1, v_grads)\n"
        "v_m2 = jax.tree_util.tree_map(lambda m, g: 0.999 * m + 0.001 * g * g, v_m2, v_grads)\n"
        "v_step += 1\n"
        "v_scale = <<lr>> * (1 - 0.999 ** v_step) ** 0.5 / (1 - 0.9 ** v_step)\n"
        "v_params = jax.tree_util.tree_map(lambda p, m, v: p - v_scale * m / (jnp.sqrt(v) + 1e-8), v_params, v_m1, v_m2)",
        "0.003",
    ),
}


def jax_base(task: str, update: str, rng: random.Random) -> Draft:
    one = getattr(tasks, task)(rng)
    kind = next(kind for kind in _LOSSES if kind in one.features)
    units, loss = _LOSSES[kind]
    one.features |= {"jax", "loop", "arrays", "hand-made"}
    one.imports = ["import jax", "import jax.numpy as jnp"]
    state, step, rate = _UPDATES[update]
    one.constants["LR"] = rate
    one.slots |= {"units": units, "loss_value": loss, "state": state, "update": step, "lr": "K_LR", "epochs": "K_EPOCHS",
                  "batch": "K_BATCH", "act": "jax.nn.relu", "scale_of_weights": "jnp.sqrt(2.0 / a)", "hidden": "[64, 32]",
                  "head_act": "", "bias": "jnp.zeros(b)"}  # fmt: skip
    if kind == "autoencoder":
        one.slots |= {"hidden": "[64, 16, 64]", "head_act": "v_out = jax.nn.sigmoid(v_out)"}
    one.layers = []
    one.slots["target_shape"] = ".reshape(-1, 1)" if kind == "binary" else ""
    one.piece("data").body += "\nv_y, v_yval = v_y<<target_shape>>, v_yval<<target_shape>>\n<<arrays_extra>>"
    _functions(one)
    one.pieces.append(Piece("model", ["v_x"], _MODEL, ["v_params"]))
    one.pieces.append(Piece("train", ["v_params", "v_x", "v_y"], code(_LOOP), ["v_params", "v_loss"]))
    finish = ["<<finish_before>>", 'SAY("last loss {:.4f}", float(v_loss))']
    if rng.random() < 0.5:
        finish.append('np.savez("params.npz", *[np.asarray(v_w) for v_pair in v_params for v_w in v_pair])')
    one.pieces.append(Piece("finish", ["v_params", "v_loss"], "\n".join([*finish, "<<finish>>"]), []))
    return one


_MODEL = "<<model_before>>\nv_params = f_init(jax.random.PRNGKey(K_SEED), [v_x.shape[1], *<<hidden>>, <<units>>])\n<<model_extra>>"

_LOOP = """
    <<state>>
    v_step = 0
    v_rng = np.random.default_rng(K_SEED + 1)
    <<loop_before>>
    for v_epoch in range(<<epochs>>):
        v_order = v_rng.permutation(len(v_x))
        v_total, v_count = 0.0, 0
        for low in range(0, len(v_order) - <<batch>> + 1, <<batch>>):
            v_part = v_order[low:low + <<batch>>]
            v_xb, v_yb = v_x[v_part], v_y[v_part]
            <<batch_extra>>
            v_loss, v_grads = f_step(v_params, v_xb, v_yb)
            <<step_grads>>
            <<update>>
            v_total += float(v_loss)
            v_count += 1
            <<step_extra>>
        <<epoch_extra>>
        SAY("epoch {}: loss {:.4f}", v_epoch + 1, v_total / max(v_count, 1))
    <<train_after>>
"""


def _functions(one: Draft) -> None:
    one.defs += [
        code("""
            def f_init(key, sizes):
                v_params = []
                for a, b in zip(sizes[:-1], sizes[1:]):
                    key, sub = jax.random.split(key)
                    v_params.append((jax.random.normal(sub, (a, b)) * <<scale_of_weights>>, <<bias>>))
                return v_params
            """),
        code("""
            def f_forward(v_params, v_inputs):
                for v_w, v_b in v_params[:-1]:
                    v_inputs = <<act>>(v_inputs @ v_w + v_b)
                    <<forward_extra>>
                v_w, v_b = v_params[-1]
                v_out = v_inputs @ v_w + v_b
                <<head_act>>
                return v_out
            """),
        code("""
            def f_loss(v_params, v_xb, v_yb):
                v_out = f_forward(v_params, v_xb)
                <<loss_before>>
                return <<loss_value>><<penalty>>


            f_step = <<jit>>(jax.value_and_grad(f_loss))
            """),
    ]  # fmt: skip
    one.slots["jit"] = "jax.jit"
