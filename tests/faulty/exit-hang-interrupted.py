# /// zoo
# cause = ["script-error", "callback-raised"]
# limit_s = 300
# ///
"""Leaves `fit` early with data fed by Python: stock TensorFlow then hangs at exit; under Holdfast it must end."""
from own_training import keras, network, np, tf


def examples():
    while True:
        yield np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


class Check(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 40:
            raise ValueError("the labels are not what they should be")


data = tf.data.Dataset.from_generator(examples, output_signature=(tf.TensorSpec((8, 4)), tf.TensorSpec((8, 1)))).prefetch(2)
model = network()
model.compile("sgd", "mse")
model.fit(data, steps_per_epoch=100, epochs=2, callbacks=[Check()], verbose=2)
