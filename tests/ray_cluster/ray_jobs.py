"""Commands of Holdfast on a Ray cluster and in one process, and what is compared of them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.host import procfs

PATIENCE_S = 3600.0  # a machine that does much else loads a model for minutes
Harm = Callable[["subprocess.Popen[bytes]"], None]


class Measured:
    def __init__(self, out: bytes, error: str, code: int, took_s: float) -> None:
        self.out, self.error, self.code, self.took_s = out, error, code, took_s

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.out).hexdigest() if self.out else ""

    def said(self, words: str) -> str:
        return next((line for line in self.error.splitlines() if words in line), "")


class Jobs:
    """Commands in `folder`. `elsewhere` is the address for machines that are not of the cluster."""

    def __init__(self, folder: Path, address: str, elsewhere: str = "") -> None:
        self.folder, self.elsewhere, self._address = folder, elsewhere, address
        self.bad = 0
        self.more: dict[str, str] = {}  # of the environment

    def command(self, *words: str, workers: str, cache: str = "") -> subprocess.Popen[bytes]:
        environment = os.environ | {
            "RAY_ADDRESS": self._address, "XDG_CACHE_HOME": str(self.cache(cache or workers)),
            "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2",
        } | self.more  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-m", "holdfast", *words, "--workers", workers],
            cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def cache(self, name: str) -> Path:
        return self.folder / "cache" / name.replace("/", "-")

    def timed(self, *words: str, workers: str, cache: str = "", harm: Harm | None = None) -> Measured:
        began = time.monotonic()
        process = self.command(*words, workers=workers, cache=cache)
        if harm is not None:
            harm(process)
        out, error = process.communicate(timeout=PATIENCE_S)
        return Measured(out, error.decode(errors="replace"), process.returncode, time.monotonic() - began)

    def row(self, name: str, one: str, other: str, said: str) -> None:
        same = bool(one) and one == other
        self.bad += not same
        print(f"{'same ' if same else 'OTHER'} {name:34} {other[:12]:12}  {said}", flush=True)

    def require(self, true: bool, said: str) -> None:
        self.bad += not true
        print(f"{'true ' if true else 'FALSE'} {said}", flush=True)


def tree(folder: Path, *, without: str = "") -> str:
    """Names and bytes of all files."""
    digest = hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != without)
    for path in files:
        digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return digest.hexdigest() if files else ""


def times(one: Measured, two: Measured) -> str:
    return f"{one.took_s:.1f} s in one process, {two.took_s:.1f} s on two nodes"


# -- what is killed -----------------------------------------------------------------------------------


def workers_of(name: str) -> list[int]:
    """Ray names its busy workers by their task."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and name in procfs.command_line(int(entry.name)):
            found.append(int(entry.name))
    return found


def kill_a_worker(process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if busy := workers_of("ray::_work"):
            time.sleep(0.5)
            os.kill(busy[0], signal.SIGKILL)
            return
        time.sleep(0.1)
    raise TimeoutError("no worker was busy")


def finished(folder: Path, pattern: str = "*") -> dict[Path, int]:
    """Files that are whole, and their inodes: one that is written again has another."""
    with contextlib.suppress(OSError):
        return {
            path: path.stat().st_ino
            for path in folder.rglob(pattern)
            if path.is_file() and not path.name.startswith(".") and "-writing" not in path.name
        }
    return {}


def kill_the_driver(folder: Path, pattern: str = "*", *, at: int = 4) -> Harm:
    """When so many files are finished in the folder."""

    def harm(process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and process.poll() is None:
            if len(finished(folder, pattern)) >= at:
                process.kill()
                return
            time.sleep(0.02)
        process.kill()
        said = process.communicate()[1].decode(errors="replace")[-500:]
        raise TimeoutError(f"{len(finished(folder, pattern))} files were finished in {folder}: {said}")

    return harm
