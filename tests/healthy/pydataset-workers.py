# /// zoo
# cause = "healthy"
# variants = ["PROCESSES=1"]
# ///
"""A PyDataset fed by threads (or processes) of its own, a little slow each."""
import time

from own_training import keras, knob, network, np


class Pictures(keras.utils.PyDataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        time.sleep(0.02)
        x = np.random.default_rng(index).normal(size=(8, 4)).astype("float32")
        return x, x.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    model = network()
    model.compile("sgd", "mse")
    model.fit(Pictures(workers=4, use_multiprocessing=bool(knob("PROCESSES", 0)), max_queue_size=8), epochs=3, verbose=2)
