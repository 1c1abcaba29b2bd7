# /// zoo
# cause = "batch-norm-misused"
# variants = ["STEPS=400 UNITS=8"]
# near = ["KEEP=1"]
# ///
"""The step returns the state that it was given, and not the averages that it has computed."""
import jax, jax.numpy as jnp, numpy as np
from own_tables import two_classes
from own_training import knob

x, y = two_classes(640)
x, y, units, keep = x.astype("float32") * 20 + 60, y.reshape(-1).astype("float32"), knob("UNITS", 16), knob("KEEP", 0)
rng = np.random.default_rng(0)
params = {"w": rng.normal(size=(x.shape[1], units)).astype("float32") * 0.3, "v": rng.normal(size=units).astype("float32") * 0.3}
state = {"mean": jnp.zeros(units), "var": jnp.ones(units)}


def forward(params, state, x, train):
    h = x @ params["w"]
    mean, var = (h.mean(0), h.var(0)) if train else (state["mean"], state["var"])
    new = {"mean": 0.9 * state["mean"] + 0.1 * h.mean(0), "var": 0.9 * state["var"] + 0.1 * h.var(0)}
    return jnp.tanh((h - mean) / jnp.sqrt(var + 1e-3)) @ params["v"], new


def objective(params, state, x, y):
    out, new = forward(params, state, x, True)
    return jnp.mean(jnp.logaddexp(0.0, out) - y * out), new


@jax.jit
def step(params, state, x, y):
    (loss, new), slopes = jax.value_and_grad(objective, has_aux=True)(params, state, x, y)
    return jax.tree_util.tree_map(lambda a, b: a - 0.3 * b, params, slopes), new if keep else state, loss


predict = jax.jit(lambda params, state, x: forward(params, state, x, False)[0] > 0)
for number in range(knob("STEPS", 300)):
    rows = rng.integers(0, len(x) - 100, 64)
    params, state, loss = step(params, state, x[rows], y[rows])
    if number % 50 == 49:
        print(number, float(loss), float((predict(params, state, x[-100:]) == (y[-100:] > 0)).mean()))
