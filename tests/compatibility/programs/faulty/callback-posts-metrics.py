# /// zoo
# cause = "callback-blocked"
# limit_s = 600
# ///
"""After each epoch the metrics are posted to a dashboard, which accepts the connection and never answers."""
import json
import socket
import urllib.request

import numpy as np
import tensorflow as tf

dashboard = socket.socket()
dashboard.bind(("127.0.0.1", 0))
dashboard.listen(5)
url = "http://127.0.0.1:%d/metrics" % dashboard.getsockname()[1]


class Dashboard(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        body = json.dumps({"epoch": epoch, "loss": float(logs["loss"])}).encode()
        urllib.request.urlopen(urllib.request.Request(url, data=body))


x = np.random.RandomState(0).rand(320, 4).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(4)])
model.compile("rmsprop", "mae")
model.fit(x, x, epochs=3, batch_size=16, callbacks=[Dashboard()], verbose=2)
