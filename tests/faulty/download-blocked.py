# /// zoo
# cause = "download-blocked"
# stall_after_s = 20
# variants = ["HOW=silent", "HOW=hub"]
# near = ["HOW=works"]
# limit_s = 300
# ///
"""Pretrained weights are to be fetched from a network that is not there."""
import http.server
import os
import socket
import threading

from own_training import batches, keras, knob, network, train

how = knob("HOW", "refused")


class Files(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"weights")

    def log_message(self, *words):
        pass


silent = socket.create_server(("127.0.0.1", 0))
server = http.server.HTTPServer(("127.0.0.1", 0), Files)
threading.Thread(target=server.serve_forever, daemon=True).start()
if how == "hub":
    keras.applications.MobileNetV2(weights="imagenet", input_shape=(96, 96, 3))
else:
    address = {"silent": silent.getsockname()[1], "works": server.server_port}.get(how)
    host = f"127.0.0.1:{address}" if address else "weights.invalid"
    os.makedirs("cache", exist_ok=True)  # else Keras takes /tmp/.keras, and what another run left there
    keras.utils.get_file("backbone.h5", f"http://{host}/backbone.h5", cache_dir="cache")
train(network(), batches(160), epochs=2)
server.shutdown()
