"""`holdfast` whose trainer is the tiny detector (tests/launch/tiny_peer.py): `python -m tests.slurm.tiny_holdfast …`.

Everything else is as it is: the job, the launcher, the supervisors, JAX's runtime between the processes, checkpoints.
"""

from __future__ import annotations

import os
import sys

from holdfast.cli.main import main
from holdfast.launch import group

STEPS, STEP_S = 120, 0.4

if __name__ == "__main__":
    steps = ("--steps", str(STEPS), "--step-s", str(STEP_S))
    group.TRAINER = (sys.executable, "-m", "tests.launch.tiny_peer", *steps)
    os.environ["KERAS_BACKEND"] = "jax"
    sys.exit(main(sys.argv[1:]))
