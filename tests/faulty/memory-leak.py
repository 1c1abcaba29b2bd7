# /// zoo
# cause = "memory-leak"
# leads_to = "killed-for-memory"
# memory_mib = 1300
# quick = true
# variants = ["LOOP=custom", "MIB=20", "MIB=20 LOOP=custom", "WHERE=py_function", "MIB=7 WHERE=module", "WHERE=py_function LOOP=batch"]
# near = ["KEEP=20", "MIB=0 STEPS=2000"]
# ///
"""Something is kept at every step and never let go: by a callback, a loader function or a list of the module's."""
from collections import deque

from own_training import batches, keras, knob, network, np, tf, train

mib, keep, where, steps = knob("MIB", 3), knob("KEEP", 0), knob("WHERE", "callback"), knob("STEPS", 3000)
kept = deque(maxlen=keep or None)


def remember(step):
    kept.append(np.ones((mib << 18) + 1, "float32"))


class Recorder(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.history_of_batches = kept

    def on_train_batch_end(self, batch, logs=None):
        self.history_of_batches.append(np.ones((mib << 18) + 1, "float32"))


def load(x, y):
    remember(0)
    return x, y


data = batches((400 if keep else steps) * 8)
if where == "py_function":
    data = data.map(lambda x, y: tf.numpy_function(load, (x, y), (tf.float32, tf.float32)))
    data = data.map(lambda x, y: (tf.ensure_shape(x, (None, 4)), tf.ensure_shape(y, (None, 1))))
recorder = [Recorder()] if where == "callback" and knob("LOOP", "fit") == "fit" else []
train(network(), data, epochs=3, callbacks=recorder, on_step=remember if where == "module" or knob("LOOP", "fit") == "custom" else None)
