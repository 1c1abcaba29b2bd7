"""A driver's library with made numbers, compiled on this machine: `nvml_stub.c`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.host import nvml_library

STUB = Path(__file__).parent / "nvml_stub.c"


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Builds the library with these flags, and makes it the only one that is found."""

    def build(*flags: str, **environment: str) -> Path:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler")
        library = tmp_path / "libnvidia-ml.so.1"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, *flags, STUB], check=True)
        monkeypatch.setattr(nvml_library, "PLACES", (str(library),))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return library

    return build
