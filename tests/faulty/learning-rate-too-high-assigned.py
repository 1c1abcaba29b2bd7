# /// zoo
# cause = "learning-rate-too-high"
# ///
"""A tf.function changes its variables itself, at a rate far too high."""
import tensorflow as tf, numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(512, 12)).astype('float32')
Y = (X @ rng.normal(size=(12, 1))).astype('float32')
w = tf.Variable(rng.normal(size=(12, 1)).astype('float32'))
b = tf.Variable(tf.zeros(1))

def train(lr, n):

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w + b - y) ** 2)
        gw, gb = tape.gradient(loss, [w, b])
        w.assign_sub(lr * gw)
        b.assign_sub(lr * gb)
        return loss
    for k in range(n):
        i = k % 16 * 32
        loss = step(X[i:i + 32], Y[i:i + 32])
    print('loss', float(loss))
train(4.0, 300)
