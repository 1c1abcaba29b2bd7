# /// zoo
# cause = "output-pipe-full"
# stall_after_s = 20
# variants = ["LINES=100"]
# near = ["DRAIN=1"]
# limit_s = 300
# ///
"""Starts the training below a launcher that waits for its end and never reads what it prints."""
import subprocess
import sys

from own_training import batches, knob, network, train


def talk(step):
    print("step", step, "." * knob("LINES", 300))


if len(sys.argv) > 1:
    train(network(), batches(8000), epochs=2, on_step=talk)
else:
    child = subprocess.Popen([sys.executable, sys.argv[0], "train"], stdout=subprocess.PIPE)
    if knob("DRAIN", 0):
        print("printed", sum(map(len, child.stdout)), "bytes")
    sys.exit(child.wait())
