# /// zoo
# cause = "already-at-target"
# ///
"""A pickled state of the last step is read: the loop has no round to do."""
import pickle, os, jax, jax.numpy as jnp
key = jax.random.PRNGKey(0)
X = jax.random.normal(key, (512, 10))
Y = X @ jnp.arange(10.0)[:, None]
params = {'w': jnp.zeros((10, 1)), 'b': jnp.zeros((1,))}
pickle.dump({'params': jax.device_get(params), 'step': 300}, open('state.pkl', 'wb'))
first = 0
if os.path.exists('state.pkl'):
    state = pickle.load(open('state.pkl', 'rb'))
    params, first = (state['params'], state['step'])

def loss_fn(p, x, y):
    return jnp.mean((x @ p['w'] + p['b'] - y) ** 2)

@jax.jit
def update(p, x, y):
    loss, g = jax.value_and_grad(loss_fn)(p, x, y)
    return (jax.tree_util.tree_map(lambda a, b: a - 0.01 * b, p, g), loss)
for step in range(first, 300):
    i = step % 16 * 32
    params, loss = update(params, X[i:i + 32], Y[i:i + 32])
pickle.dump({'params': jax.device_get(params), 'step': 300}, open('state.pkl', 'wb'))
print('done')
