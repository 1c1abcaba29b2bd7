"""Limits that several parts must agree on.

How long each process may take to save and exit after it was asked to stop, one inside the other:

    scheduler 60 s  >  coordinator of a group 55 s  >  what a script left behind 30 s  >  trainer 25 s

Clouds kill a pre-empted machine about 30 s after the notice, so a trainer must be done within that.
"""

from __future__ import annotations

SCHEDULER_GRACE_S = 60  # SLURM and Kubernetes, between SIGTERM and SIGKILL
GROUP_GRACE_S = 55.0  # the coordinator, until the last process of a group has saved and exited
LEFTOVERS_GRACE_S = 30.0  # processes that a script started and did not wait for
TRAINER_GRACE_S = 25.0  # pending checkpoints

MAX_PROCESSES = 4096  # of a group, in a recipe and on the command line
