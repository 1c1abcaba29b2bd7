"""On JAX: a loop over slices of an array, with one jitted step that the optimizer of Keras is in, and one without."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np

keras.utils.set_random_seed(0)  # how fast the loss grows depends on the first weights
x = np.random.default_rng(0).random((160, 12), dtype="float32")
y = x.sum(1, keepdims=True)
model = keras.Sequential(
    [keras.Input((12,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)]
)
optimizer = keras.optimizers.SGD(5.0)
optimizer.build(model.trainable_variables)


def loss_of(trainable, other, images, targets):
    predicted, other = model.stateless_call(trainable, other, images, training=True)
    return ((predicted - targets) ** 2).mean(), other


class Trainer:
    @jax.jit
    def measure(images):
        return images.mean()


@jax.jit
def step(trainable, other, slots, images, targets):
    (value, other), gradients = jax.value_and_grad(loss_of, has_aux=True)(trainable, other, images, targets)
    trainable, slots = optimizer.stateless_apply(slots, gradients, trainable)
    return value, trainable, other, slots


groups = (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
state = [[variable.value for variable in group] for group in groups]
assert isinstance(step, jax.stages.Wrapped)
assert step.lower(*state, x[:16], y[:16]).as_text()
for _ in range(3):
    for start in range(0, 160, 16):
        Trainer.measure(x[start : start + 16])
        loss, *state = step(*state, x[start : start + 16], y[start : start + 16])
loss.block_until_ready()
print(step.__name__, float(loss))
