"""NumPy's linear algebra in one thread, and as before afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from holdfast.probe.runtime import blas_threads

_MAPS = Path("/proc/self/maps")


def _threads() -> list[int]:
    return [read() for read, _ in blas_threads._libraries(_MAPS)]


def test_one_thread_and_as_many_as_before_afterwards() -> None:
    np.linalg.solve(np.eye(3), np.ones(3))
    before = _threads()
    with blas_threads.one_thread():
        assert _threads() == [1] * len(before)
    assert _threads() == before


def test_a_system_without_maps(tmp_path: Path) -> None:
    with blas_threads.one_thread(tmp_path / "maps"):
        assert np.linalg.solve(np.eye(3), np.ones(3)).tolist() == [1, 1, 1]
