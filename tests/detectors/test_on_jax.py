"""On JAX in a process of its own: Keras has one backend a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.hot

HERE = Path(__file__).parent


@pytest.mark.proof
def test_what_is_laid_out_for_an_accelerator() -> None:
    environment = os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--no-header", str(HERE / "on_jax.py")],
        env=environment, cwd=HERE.parent.parent, capture_output=True, text=True, timeout=5 * PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
