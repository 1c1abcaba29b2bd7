# /// zoo
# cause = "permission-denied"
# variants = ["HOW=save", "HOW=tf"]
# near = ["HOW=none"]
# ///
"""May not read its data, or not write its results."""
import os
from pathlib import Path

from own_training import batches, keras, knob, network, np, tf, train

how = knob("HOW", "read")
np.save("boxes.npy", np.ones(4))
Path("results").mkdir()
for path, mode in (("boxes.npy", 0o600), ("results", 0o700)):
    os.chmod(path, mode)
os.chmod(".", 0o755)
if how != "none":
    os.setegid(65534)
    os.seteuid(65534)  # root may do everything: go on as nobody
if how == "read":
    np.load("boxes.npy")
elif how == "tf":
    tf.io.read_file("boxes.npy")
model = network()
train(model, batches(160), epochs=2)
model.save("results/model.keras")
