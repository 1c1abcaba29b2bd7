# /// zoo
# cause = "input-blocked"
# quick = true
# stall_after_s = 15
# variants = ["HOW=queue", "HOW=socket LOOP=custom", "HOW=fifo LOOP=custom", "AFTER=0"]
# near = ["HOW=slow"]
# ///
"""A reader waits for ever: on a FIFO that nobody writes, an empty queue, a server that does not answer."""
import os
import queue
import socket
import time

from own_training import knob, network, np, tf, train

how, after = knob("HOW", "fifo"), knob("AFTER", 20)
os.mkfifo("late.bin")
server = socket.create_server(("127.0.0.1", 0))
waiting = queue.Queue()


def examples():
    for number in range(60):
        if number == after and how == "queue":
            waiting.get()
        if number == after and how == "socket":
            socket.create_connection(server.getsockname()).recv(100)
        if how == "slow" and number == after:
            time.sleep(8)
        yield np.ones(4, "float32"), np.ones(1, "float32")


def read(number):
    name = tf.where(number == after, "late.bin", "good.bin")
    return tf.ones((4,)) * tf.cast(tf.strings.length(tf.io.read_file(name)), tf.float32), tf.ones((1,))


if how == "fifo":
    with open("good.bin", "wb") as good:
        good.write(b"1")
    data = tf.data.Dataset.range(60).map(read)
else:
    data = tf.data.Dataset.from_generator(examples, output_signature=(tf.TensorSpec((4,)), tf.TensorSpec((1,))))
train(network(), data.batch(1), epochs=2)
