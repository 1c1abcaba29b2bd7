# /// zoo
# cause = "input-blocked"
# limit_s = 600
# ///
"""A tf.data pipeline reads from a server that keeps the connection open and stops sending; own training loop."""
import socket
import threading

import numpy as np
import tensorflow as tf

server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(1)
kept = []


def serve():
    connection, _ = server.accept()
    kept.append(connection)
    for number in range(60):
        connection.sendall(np.full(16, number, "float32").tobytes())


threading.Thread(target=serve, daemon=True).start()


def from_server():
    client = socket.create_connection(server.getsockname())
    while True:
        data = b""
        while len(data) < 64:
            data += client.recv(64 - len(data))
        yield np.frombuffer(data, "float32") / 60.0


ds = tf.data.Dataset.from_generator(from_server, output_types=tf.float32, output_shapes=(16,)).batch(4).prefetch(2)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(16)])
optimizer = tf.keras.optimizers.Adam(1e-3)


@tf.function
def step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(batch, training=True) - batch))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


model(tf.zeros((1, 16)))
for number, batch in enumerate(ds):
    loss = step(batch)
    if number % 5 == 0:
        print("step", number, "loss", float(loss))
