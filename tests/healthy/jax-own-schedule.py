# /// zoo
# cause = "healthy"
# ///
"""Updates written out, with a learning rate that warms up and comes down."""
import jax, jax.numpy as jnp, math
key = jax.random.PRNGKey(0)
X = jax.random.normal(key, (512, 10))
Y = X @ jnp.arange(10.0)[:, None]
params = {'w': jnp.zeros((10, 1)), 'b': jnp.zeros((1,))}

def loss_fn(p, x, y):
    return jnp.mean((x @ p['w'] + p['b'] - y) ** 2)

@jax.jit
def update(p, x, y, lr):
    loss, g = jax.value_and_grad(loss_fn)(p, x, y)
    return (jax.tree_util.tree_map(lambda a, b: a - lr * b, p, g), loss)
base_lr = 0.1
for step in range(400):
    lr = base_lr * 0.5 * (1 + math.cos(math.pi * step / 400)) * min(1, step / 20)
    i = step % 16 * 32
    params, loss = update(params, X[i:i + 32], Y[i:i + 32], lr)
print(float(loss))
