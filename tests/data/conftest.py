"""For all tests of data: workers start as they do at the command line."""

from __future__ import annotations

import multiprocessing
import sys

import pytest

from holdfast.data.files import process_pool


@pytest.fixture(autouse=True)
def _forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forked, though pytest's own thread that watches the time is there: to start each again takes half a second."""
    if not {"tensorflow", "jax"} & set(sys.modules):
        monkeypatch.setattr(process_pool, "_context", lambda: multiprocessing.get_context("fork"))
