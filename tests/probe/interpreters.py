"""The Python interpreters of this machine, by their versions: those of pyenv, and those on PATH."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

from tests.waiting import PATIENCE_S

_VERSIONS = ("2.7", *(f"3.{minor}" for minor in range(6, 16)))
_ASK = "import sys; sys.stdout.write('%d.%d' % sys.version_info[:2])"


@functools.cache
def found() -> dict[str, str]:
    """One of each version: "3.8" and the program, oldest first."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    programs = {}
    for version in _VERSIONS:
        installed = sorted(pyenv.glob(f"{version}.*/bin/python"))
        program = str(installed[-1]) if installed else shutil.which(f"python{version}")
        if program and _answers(program, version):
            programs[version] = program
    return programs


def _answers(program: str, version: str) -> bool:
    """A program on PATH may be a stub that knows of no such version."""
    done = subprocess.run([program, "-S", "-c", _ASK], capture_output=True, text=True, timeout=PATIENCE_S)
    return done.stdout == version
