"""What TensorFlow prints about itself stays off the screen; every other byte comes through, in order."""

import os
import subprocess
import sys

CHATTER = (
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    "I0000 00:00:1794761303.588223   13560 port.cc:153] oneDNN custom operations are on. You may see\n"
)
CODE = f"""
import os, sys
from holdfast.supervise.child.quiet_stderr import filter_tensorflow_noise
with filter_tensorflow_noise():
    print("before", file=sys.stderr, flush=True)
    os.write(2, {CHATTER.encode()!r})
    print("W0000 a warning of another kind", file=sys.stderr, flush=True)
    os.write(2, b"a last word without an end")
print(" and after", file=sys.stderr)
sys.exit(3)
"""


def said(**environment):
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=os.environ | environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3
    return done.stderr


def test_chatter_is_left_out_and_nothing_else():
    plain = "before\nW0000 a warning of another kind\na last word without an end and after\n"
    assert said(HOLDFAST_DEBUG="") == plain
    assert CHATTER in said(HOLDFAST_DEBUG="1")
