# /// zoo
# cause = "generator-exhausted"
# ///
"""A generator is gone through once; nineteen more epochs find nothing in it."""
import jax, jax.numpy as jnp, numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(640, 10)).astype('float32')
Y = X @ np.arange(10.0, dtype='float32')[:, None]

def batches():
    for i in range(0, 640, 32):
        yield (X[i:i + 32], Y[i:i + 32])
params = {'w': jnp.zeros((10, 1)), 'b': jnp.zeros((1,))}

def loss_fn(p, x, y):
    return jnp.mean((x @ p['w'] + p['b'] - y) ** 2)

@jax.jit
def update(p, x, y):
    loss, g = jax.value_and_grad(loss_fn)(p, x, y)
    return (jax.tree_util.tree_map(lambda a, b: a - 0.01 * b, p, g), loss)
data = batches()
for epoch in range(20):
    for x, y in data:
        params, loss = update(params, x, y)
    print(epoch, float(loss))
