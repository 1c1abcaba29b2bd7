"""One program of a stranger under `holdfast run`, in a copy of its folder, with the signal or limit it asks for."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tests.generated.runner import end, program_in
from tests.zoo import world

_HOLDFAST = [sys.executable, "-m", "holdfast"]
_STALL_LIMIT_S = 150
_AT_LEAST_S = 120  # the machine may be busy
_COMPANION_S = 10


@dataclass(frozen=True)
class Case:
    folder: Path
    name: str
    kind: str
    cause: str | None = None
    also_right: tuple[str, ...] = ()
    why: str = ""
    argv: tuple[str, ...] = ("train.py",)
    setup: str = ""
    limit_s: float = 90
    stalls: bool = False
    memory_mib: int | None = None
    signal: dict[str, Any] | None = None
    exclusive: bool = False  # of programs that run at once: needs the GPU's memory, or its time, for itself
    companion: tuple[str, ...] = ()  # somebody else's program, started before and ended after

    @classmethod
    def read(cls, folder: Path, top: Path) -> Case:
        names = {field.name for field in fields(cls)}
        given = json.loads((folder / "case.json").read_text())
        values = {key: value for key, value in given.items() if key in names and value is not None}
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
        return cls(folder=folder, name=str(folder.relative_to(top)), **values)

    def explained(self, kept: Path) -> dict[str, Any] | None:
        done = subprocess.run(
            [*_HOLDFAST, "explain", str(kept / "run"), "--json"], capture_output=True, text=True, check=False
        )
        try:
            return json.loads(done.stdout)  # type: ignore[no-any-return]
        except ValueError:
            return None


def run(case: Case, kept: Path, python: str) -> None:
    """Writes `output.txt`, `run/` and `verdict.json` into `kept`."""
    shutil.copytree(case.folder, kept / "work")
    work = (kept / "work").absolute()
    if case.setup:
        path = f"{Path(python).parent}:{os.environ['PATH']}"
        subprocess.run(
            ["bash", "-c", case.setup], cwd=work, env={**os.environ, "PATH": path}, check=True, timeout=300
        )
    with _beside(case, work, python):
        _run(case, kept, work, python)


@contextlib.contextmanager
def _beside(case: Case, work: Path, python: str) -> Iterator[None]:
    if not case.companion:
        yield
        return
    other = subprocess.Popen(
        [python, *case.companion], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    try:
        time.sleep(_COMPANION_S)
        yield
    finally:
        other.kill()
        other.wait()


def _run(case: Case, kept: Path, work: Path, python: str) -> None:
    limits = world.World(memory_mib=case.memory_mib) if case.memory_mib else world.World()
    with world.control_groups(limits, f"rounds-{os.getpid()}-{case.folder.name}") as groups:
        command = [
            "run",
            "--run-dir",
            str((kept / "run").absolute()),
            "--on-stall",
            "stop",
            "--",
            python,
            *case.argv,
        ]
        with (kept / "output.txt").open("wb") as output:
            child = subprocess.Popen(
                [*world.entering(groups, limits.limits), *_HOLDFAST, *command], cwd=work,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            verdict = _watched(case, child, kept)
            end(child, work)
    subprocess.run(["bash", "-c", f"umount -l {work}/*/ 2>/dev/null"], check=False, capture_output=True)
    (kept / "verdict.json").write_text(json.dumps(verdict or case.explained(kept), indent=1))


def _watched(case: Case, child: subprocess.Popen[bytes], kept: Path) -> dict[str, Any] | None:
    """A verdict only of a program that still runs at its limit: what a person would ask then."""
    began = time.monotonic()
    limit_s = _STALL_LIMIT_S if case.stalls else max(_AT_LEAST_S, 3 * case.limit_s)
    if case.signal:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=case.signal["after_s"])
        with contextlib.suppress(ProcessLookupError):
            os.kill(program_in((kept / "work").absolute(), case.argv[0]), signal.Signals[case.signal["name"]])
    try:
        child.wait(timeout=max(1.0, began + limit_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        return case.explained(kept)
    return None
