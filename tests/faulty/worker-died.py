# /// zoo
# cause = "worker-died"
# stall_after_s = 20
# send = {signal = "SIGKILL", to = "program"}
# variants = ["HOW=pool"]
# ///
"""A loader process is killed; its parent waits for the batch that it took with it."""
import multiprocessing
import os

from own_training import keras, knob, network, np, ready, tf, time_passes, train


def make(number):
    time_passes(number)
    if number == 60:
        ready()  # in the child: its own id is written
        while True:
            time_passes(number)
    x = np.random.default_rng(number).normal(size=(8, 4)).astype("float32")
    return x, x.sum(axis=1, keepdims=True)


class Pictures(keras.utils.PyDataset):
    def __len__(self):
        return 200

    def __getitem__(self, index):
        return make(index)


if knob("HOW", "keras") == "keras":
    model = network()
    model.compile("sgd", "mse")
    model.fit(Pictures(workers=2, use_multiprocessing=True), epochs=2, verbose=2, shuffle=False)
else:
    pool = multiprocessing.get_context("fork").Pool(2)
    shapes = (tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1)))
    train(network(), tf.data.Dataset.from_generator(lambda: pool.imap(make, range(200)), output_signature=shapes), epochs=2)
