"""Which process sent the signal that ends a group."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.launch.test_group import ROOT

pytestmark = pytest.mark.hot

WATCHES = """
import sys, time
from holdfast.launch import stop_signals
if "numpy" in sys.argv:
    stop_signals.import_numpy()
asked = []
with stop_signals.watching(lambda *one: asked.append(one)) as take_pending:
    print("ready", flush=True)
    while not asked:
        take_pending()
        time.sleep(0.01)
print(*asked[0][:2])
"""


@pytest.mark.parametrize("words", [[], ["numpy"]])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_sender_is_known(number: signal.Signals, words: list[str]) -> None:
    """With the threads of numpy too, of which the kernel gives the signal to any that does not block it."""
    command = [sys.executable, "-c", WATCHES, *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(number)
        assert child.stdout.read() == f"{number.name} {os.getpid()}\n"
