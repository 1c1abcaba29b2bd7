# /// zoo
# cause = "fork-deadlock"
# stall_after_s = 20
# variants = ["HOW=tensorflow", "HOW=model"]
# near = ["HOW=spawn"]
# ///
"""Forks while another thread holds a lock; in the child nobody is left to release it."""
import multiprocessing
import threading
import time

from own_training import batches, knob, network, np, tf, train

how = knob("HOW", "lock")
guard = threading.Lock()
model = network()


def count(number):
    if how == "lock":
        with guard:
            return number
    if how == "tensorflow":
        return float(tf.reduce_sum(tf.linalg.matmul(tf.ones((900, 900)), tf.ones((900, 900)))))
    if how == "model":
        return float(model.evaluate(batches(16), verbose=0))
    return number


def logger():
    while True:
        with guard:
            time.sleep(0.05)


if __name__ == "__main__":
    train(model, batches(400), epochs=2)
    threading.Thread(target=logger, daemon=True).start()
    time.sleep(0.2)
    method = "spawn" if how == "spawn" else "fork"
    with multiprocessing.get_context(method).Pool(2) as pool:
        print("counted", len(pool.map(count, range(20))))
