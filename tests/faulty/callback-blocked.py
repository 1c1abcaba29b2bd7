# /// zoo
# cause = "callback-blocked"
# stall_after_s = 15
# variants = ["WHEN=batch", "HOW=socket"]
# near = ["HOW=slow"]
# ///
"""A callback waits for something that never comes."""
import socket
import threading
import time

from own_training import batches, keras, knob, network

when, how = knob("WHEN", "epoch"), knob("HOW", "event")
server = socket.create_server(("127.0.0.1", 0))


class Upload(keras.callbacks.Callback):
    def send(self):
        if how == "slow":
            time.sleep(8)
        elif how == "socket":
            socket.create_connection(server.getsockname()).recv(10)
        else:
            threading.Event().wait()

    def on_train_batch_end(self, batch, logs=None):
        if when == "batch" and batch == 30:
            self.send()

    def on_epoch_end(self, epoch, logs=None):
        if when == "epoch" and epoch == 1:
            self.send()


model = network()
model.compile("sgd", "mse")
model.fit(batches(800), epochs=4, callbacks=[Upload()], verbose=2)
