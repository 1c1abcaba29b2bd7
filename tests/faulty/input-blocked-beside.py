# /// zoo
# cause = "input-blocked"
# variants = ["HOW=program"]
# near = ["HOW=none"]
# ///
"""A reader waits for a server or a program for ever, while threads beside it sleep and wake as they should."""
import socket
import subprocess
import threading
import time

from own_training import keras, knob, np

how = knob("HOW", "socket")
server = socket.create_server(("127.0.0.1", 0))


def serve():
    line, _ = server.accept()
    line.sendall(b"x" * 6)
    while True:
        time.sleep(5)


def next_one(line, number):
    if how == "socket":
        line.recv(1)
    elif how == "program":
        subprocess.run(["sleep", "0.01" if number < 6 else "1000"])


def batches():
    line = socket.create_connection(server.getsockname())
    for number in range(100000):
        next_one(line, number)
        yield np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")


threading.Thread(target=serve, daemon=True).start()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(batches(), steps_per_epoch=10, epochs=3, verbose=2)
