# /// zoo
# cause = "cache-lock-stale"
# variants = ["LOOP=custom"]
# near = ["STALE=0"]
# ///
"""A cache file whose last writer was killed: its lock is still there."""
from pathlib import Path

from own_training import batches, knob, network, train

if knob("STALE", 1):
    Path("kept_0.lockfile").write_text("Created at: 1700000000")
train(network(), batches(160).cache("kept"), epochs=2)
