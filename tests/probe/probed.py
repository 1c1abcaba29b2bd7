"""Runs a script as a user would, with or without the probe, and reads what the probe wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import holdfast.probe
from holdfast.journal import beats, reader
from holdfast.journal.events import Event
from holdfast.probe import parts
from holdfast.probe.runtime.context import ProbeContext
from tests.waiting import PATIENCE_S

INJECT = Path(holdfast.probe.__file__).parent / "inject"
SCRIPTS = Path(__file__).parent / "scripts"
FAULTS = Path(__file__).parent / "faults"  # for PYTHONPATH: makes one method of the probe raise

Kind = TypeVar("Kind", bound=Event)


def new_context(folder: Path) -> ProbeContext:
    """The context of a process that trains, with all parts, and no hook installed."""
    return parts.create_context(str(folder), attempt=1, role="main")


def recorded(context: ProbeContext, *kinds: type[Kind]) -> list[Kind]:
    events = [entry.event for entry in reader.read(context.folder.journal)]
    return [event for event in events if isinstance(event, kinds)]


def line(script: str, text: str) -> str:
    """The place of the first line of a script that holds the text; a decorated function begins at its decorator."""
    lines = (SCRIPTS / script).read_text().splitlines()
    index = next(number for number, found in enumerate(lines) if text in found)
    while lines[index - 1].startswith("@"):
        index -= 1
    return f"{script}:{index + 1}"


@dataclass
class Run:
    code: int
    output: str
    folder: Path

    @property
    def entries(self) -> list[reader.Entry]:
        path = self.folder / "journal.jsonl"
        return reader.read(path) if path.exists() else []

    def all(self, kind: type[Kind]) -> list[Kind]:
        return [entry.event for entry in self.entries if isinstance(entry.event, kind)]

    def one(self, kind: type[Kind]) -> Kind:
        found = self.all(kind)
        assert len(found) == 1, f"{len(found)} events {kind.__name__}"
        return found[0]

    @property
    def beats(self) -> list[beats.Beat]:
        return beats.BeatReader(self.folder / "beats").beats_since(0)


def pretend_torch(folder: Path) -> Path:
    """A folder for PYTHONPATH with a `torch` that computes nothing and calls its hooks as the real one does."""
    package = folder / "torch" / "optim"
    package.mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(
        "__version__ = '0'\nfrom torch import optim\n"
        "class cuda:\n    is_initialized = staticmethod(lambda: False)\n"
        "get_num_threads = lambda: 1\n"
    )
    (package / "__init__.py").write_text("from torch.optim.optimizer import Optimizer\n")
    (package / "optimizer.py").write_text(
        "hooks = []\n"
        "register_optimizer_step_post_hook = hooks.append\n"
        "class Weight:\n    grad = None\n    requires_grad = True\n    class device:\n        type = 'cpu'\n"
        "class Optimizer:\n"
        "    def __init__(self):\n        self.param_groups = [{'params': [Weight()], 'lr': 0.1}]\n"
        "    def step(self):\n        for hook in hooks:\n            hook(self, (), {})\n"
    )
    return folder


def run(
    *command: str | Path,
    folder: Path,
    probe: bool = True,
    python: str = sys.executable,
    path: tuple[Path, ...] = (),
    cwd: Path | None = None,
    **environment: str,
) -> Run:
    """`python *command`; `path` is behind the probe's folder on PYTHONPATH."""
    return run_program(python, *command, folder=folder, probe=probe, path=path, cwd=cwd, **environment)


def run_program(
    *command: str | Path,
    folder: Path,
    probe: bool = True,
    path: tuple[Path, ...] = (),
    cwd: Path | None = None,
    **environment: str,
) -> Run:
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", **environment}
    env.pop("HOLDFAST_FIRST", None)
    search = [str(entry) for entry in path]
    if probe:
        search.insert(0, str(INJECT))
        env["HOLDFAST_RUN_DIR"] = str(folder)
    env["PYTHONPATH"] = os.pathsep.join(search)
    done = subprocess.run(
        [str(word) for word in command], env=env, cwd=cwd, text=True, timeout=3 * PATIENCE_S, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return Run(done.returncode, done.stdout, folder)
