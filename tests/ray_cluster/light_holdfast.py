"""`holdfast` whose trainer computes nothing (tests/launch/light_peer.py)."""

from __future__ import annotations

import sys

from holdfast.cli.main import main
from holdfast.launch import group

if __name__ == "__main__":
    group.TRAINER = (sys.executable, "-m", "tests.launch.light_peer", "--steps", "60", "--step-s", "0.2")
    sys.exit(main(sys.argv[1:]))
