# /// zoo
# cause = "file-locked"
# variants = ["LOOP=custom"]
# near = ["HELD=0"]
# ///
"""Another process has the HDF5 file open for writing."""
import subprocess
import sys

from own_training import batches, knob, network, train

import h5py

h5py.File("results.h5", "w").close()
code = "import h5py, sys; f = h5py.File('results.h5', 'a'); print('held', flush=True); sys.stdin.read()"
if knob("HELD", 1):
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
try:
    train(network(), batches(80), epochs=2)
    with h5py.File("results.h5", "a") as file:
        file["done"] = 1
finally:
    if knob("HELD", 1):
        other.stdin.close()
