"""What a script may ask of a jitted function, besides calling it."""

import copy
import functools
import inspect
import pickle
import weakref

import jax
import jax.numpy as jnp


def plain(x):
    """Adds two."""
    return x + 2


class Model:
    @functools.partial(jax.jit, static_argnums=0)
    def step(self, x):
        return x * 3


class Keeper:
    """Wraps a function and has names of its own."""

    def __init__(self, function):
        self._function = "mine"
        functools.update_wrapper(self, function)


def loss(weights, x):
    return ((weights["a"] * x + weights["b"]) ** 2).mean()


def train(weights, x):
    slopes = jax.grad(loss)(weights, x)
    return jax.tree_util.tree_map(lambda w, s: w - 0.1 * s, weights, slopes)


step = jax.jit(plain)
kind = type(jax.jit(lambda x: x).lower(1)).__name__
facts = {
    "names": (step.__name__, step.__qualname__, step.__module__, step.__doc__),
    "signature": str(inspect.signature(step)),
    "wrapped": step.__wrapped__ is plain,
    "itself": step == step and hash(step) == hash(step) and step in {step: 1},
    "another": step == jax.jit(plain),
    "kind": (step.__class__.__name__, isinstance(step, jax.stages.Wrapped), callable(step)),
    "shown": repr(step).split(" at ")[0],
    "listed": dir(step) == sorted(dir(step)) and "eval_shape" in dir(step) and "_steps" not in dir(step),
    "weak": weakref.ref(step)() is step,
    "copied": float(copy.copy(step)(1.0)),
    "kept in a dictionary": float(copy.deepcopy({"step": step})["step"](1.0)),
    "held": sorted(name for name in vars(step) if not name.startswith("_jit")),
    "bound": str(Model().step).split(" of ")[0],
    "method": float(Model().step(2.0)),
    "again": float(jax.jit(step)(1.0)),
    "mapped": jax.vmap(step)(jnp.arange(2.0)).tolist(),
    "lowered": kind,
    "keeper": (Keeper(step)._function if hasattr(Keeper(step), "_function") else None, Keeper(step).__name__),
    "absent": getattr(step, "nothing", "absent"),
    "in a place": pickle.loads(pickle.dumps(jax.jit)) is jax.jit,
}
step.note = 7
facts["noted"] = (step.note, hasattr(copy.copy(step), "note"))
del step.note
facts["forgotten"] = hasattr(step, "note")
try:
    pickle.dumps(step)
except Exception as error:
    facts["pickled"] = (type(error).__name__, str(error))
for name, fact in facts.items():
    print(name, fact)

weights = {"a": jnp.ones(3), "b": jnp.zeros(3)}
once = jax.jit(train)
weights = once(weights, jnp.ones(3))
for _ in range(4):
    weights = copy.copy(once)(weights, jnp.ones(3))
print("trained", round(float(loss(weights, jnp.ones(3))), 4))
