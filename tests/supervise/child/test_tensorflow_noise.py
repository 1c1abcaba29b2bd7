"""TensorFlow's start-up lines are filtered from the screen; every other byte passes, in order."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.waiting import PATIENCE_S

from holdfast.supervise.child.tensorflow_noise import TensorFlowNoiseFilter

CHATTER = (
    b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\r\n"
    b"I0000 00:00:1794746039.668710   10222 port.cc:153] oneDNN custom operations are on. You may see slightly "
    b"different numerical results due to floating-point round-off errors.\r\n"
)


LINES = (
    b"validates on 12 of 60 pictures\n",
    b"E0000 00:00:1794746074.950842   10222 util.cc:131] oneDNN supports DT_UINT8 only on platforms with AVX-512.\n",
    b"E0000 00:00:1794746074.950842   10222 cuda.cc:7] CUDA error: out of memory\n",
    b"\rstep 3",
)


def shown(hush: TensorFlowNoiseFilter, data: bytes, size: int) -> bytes:
    return b"".join(hush.shown(data[at : at + size]) for at in range(0, len(data), size)) + hush.rest()


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_only_chatter_is_kept_back_however_it_is_cut(size: int) -> None:
    assert shown(TensorFlowNoiseFilter(), CHATTER + b"".join(LINES), size) == LINES[0] + LINES[2] + LINES[3]


def test_what_does_not_begin_like_chatter_is_never_delayed() -> None:
    hush = TensorFlowNoiseFilter()
    assert hush.shown(b"\r\x1b[2Kstep 1/60") == b"\r\x1b[2Kstep 1/60"
    assert hush.shown(b" Wait") == b" Wait"
    assert hush.shown(b"I0000 in the middle of a line") == b"I0000 in the middle of a line"


def test_a_beginning_that_never_ends_is_shown_at_the_end() -> None:
    hush = TensorFlowNoiseFilter()
    assert hush.shown(b"I0000 unfinished") == b""
    assert hush.rest() == b"I0000 unfinished"


TEXT = (
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    "I0000 00:00:1794761303.588223   13560 port.cc:153] oneDNN custom operations are on. You may see\n"
)


CODE = f"""
import os, sys
from holdfast.supervise.child.tensorflow_noise import filter_tensorflow_noise
with filter_tensorflow_noise():
    print("before", file=sys.stderr, flush=True)
    os.write(2, {TEXT.encode()!r})
    print("W0000 a warning of another kind", file=sys.stderr, flush=True)
    os.write(2, b"a last word without an end")
print(" and after", file=sys.stderr)
sys.exit(3)
"""


def said(**environment):
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 3
    return done.stderr


def test_chatter_is_left_out_and_nothing_else():
    plain = "before\nW0000 a warning of another kind\na last word without an end and after\n"
    assert said(HOLDFAST_DEBUG="") == plain
    assert TEXT in said(HOLDFAST_DEBUG="1")
