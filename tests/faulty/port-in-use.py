# /// zoo
# cause = "port-in-use"
# variants = ["HOW=rendezvous"]
# near = ["HOW=none"]
# ///
"""Opens a port for its metrics, or for the others of its group, where another program listens already."""
import socket
import socketserver

from own_training import batches, knob, network, train

how = knob("HOW", "metrics")
other = socket.create_server(("127.0.0.1", 0))
port = other.getsockname()[1]
if how == "none":
    other.close()
    port = 0
if how == "rendezvous":
    import jax

    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=1, process_id=0, initialization_timeout=10)
else:
    socketserver.TCPServer(("127.0.0.1", port), socketserver.BaseRequestHandler).server_close()
train(network(), batches(160), epochs=2)
