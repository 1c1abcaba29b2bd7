# /// zoo
# cause = "killed-for-memory"
# memory_mib = 900
# quick = true
# variants = ["MIB=3000 CHUNK=200"]
# near = ["MIB=700", "MIB=500 RELEASE=1"]
# ///
"""Needs more memory than there is; no framework, no steps, nothing that could be named as the root."""
import os

import numpy as np

wanted, chunk = int(os.environ.get("MIB", 1400)), int(os.environ.get("CHUNK", 50))
blocks = []
for number in range(wanted // chunk):
    blocks.append(np.full(chunk << 18, number, "float32"))
    if os.environ.get("RELEASE"):
        blocks.clear()
print("prepared", len(blocks), "blocks")
