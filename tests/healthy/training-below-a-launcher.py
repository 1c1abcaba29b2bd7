# /// zoo
# cause = "healthy"
# ///
"""A shell-like launcher starts two trainings one after the other."""
import subprocess
import sys

code = "from own_training import batches, network, train; train(network(), batches(400), epochs=2)"
for _ in range(2):
    subprocess.run([sys.executable, "-c", code], check=True)
print("both done")
