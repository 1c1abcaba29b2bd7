"""The tests of the step again on JAX, in a process of their own: Keras has one backend per process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.hot, pytest.mark.long(30)]

HERE = Path(__file__).parent
FILES = [str(HERE / name) for name in ("test_optimizer.py", "test_step_protocol.py", "test_network.py")]


def test_the_step_on_jax(tmp_path: Path) -> None:
    environment = os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    # The same steps are compiled again and again: once is enough, and machine code that is slower does.
    environment |= {"JAX_COMPILATION_CACHE_DIR": str(tmp_path), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                    "XLA_FLAGS": "--xla_backend_optimization_level=0"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", *FILES],
        env=environment, cwd=HERE.parent.parent, capture_output=True, text=True, timeout=5 * PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
