"""The probe in every Python that is installed here: the same verdicts as in this one, and the run unchanged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.journal import reader
from holdfast.journal.events import ExitStarted, ProbeFailed, ProbeLeftOut, ProcessJoined
from tests.waiting import PATIENCE_S

from . import interpreters
from .probed import Run, pretend_torch, run
from .test_portable import INJECTED, OLDEST, SOURCE, closed_set

_HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
_ALL = list(interpreters.found())
_INSIDE = [one for one in _ALL if tuple(map(int, one.split("."))) >= OLDEST and one != _HERE]
_OUTSIDE = [one for one in _ALL if tuple(map(int, one.split("."))) < OLDEST]

_STEPS = """\
import time
from torch.optim import Optimizer
optimizer = Optimizer()
def steps(count):
    for _ in range(count):
        optimizer.step()
        time.sleep(0.01)
"""
_ENDS = {
    "finishes": "steps(30)\n",
    "raises": "def load(name):\n    return {}[name]\nsteps(20)\nload('cat.jpg')\n",
    "leaves": "import sys\nsteps(20)\nsys.exit(3)\n",
    "terminated": "import os, signal\nsteps(20)\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(60)\n",
    "crashes": "import ctypes\nsteps(20)\nctypes.string_at(0)\n",
    "blocked queue": "import queue\nsteps(20)\nqueue.Queue().get()\n",
    "thread died": (
        "import queue, threading\nbatches = queue.Queue()\n"
        "def load():\n    batches.put({}['cat.jpg'])\n"
        "threading.Thread(target=load).start()\nsteps(20)\nbatches.get()\n"
    ),
    "deadlock": (
        "import threading\na, b = threading.Lock(), threading.Lock()\n"
        "def other():\n    with b:\n        time.sleep(0.5)\n        with a:\n            pass\n"
        "steps(20)\nthreading.Thread(target=other, daemon=True).start()\n"
        "with a:\n    time.sleep(0.3)\n    with b:\n        pass\n"
    ),
}


@pytest.fixture(scope="module")
def torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pretend_torch(tmp_path_factory.mktemp("packages"))


@pytest.mark.parametrize("version", _INSIDE)
def test_every_module_can_be_imported_without_a_warning(version: str) -> None:
    names = [
        ".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in closed_set() if path != INJECTED
    ]
    code = (
        "import importlib, sys\npackage = type(sys)('_holdfast')\n"
        f"package.__path__ = [{str(SOURCE)!r}]\nsys.modules['_holdfast'] = package\n"
        f"for name in {names!r}:\n    importlib.import_module('_holdfast.' + name)\n"
    )
    program = interpreters.found()[version]
    done = subprocess.run(
        [program, "-B", "-W", "error", "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


_UNCHANGED = _STEPS + (
    "import os, random, signal, sys, threading, warnings\n"
    "steps(3)\nsys.stdout.flush()\nrandom.seed(7)\n"
    "def first_frame():\n    return sys._getframe().f_back.f_code.co_name\n"
    "here = locals()\n"
    "print(random.random(), [one.name for one in threading.enumerate()], sys.path[1:3])\n"
    "print(signal.getsignal(signal.SIGTERM))\n"
    "print(first_frame(), warnings.filters[:1], sorted(name for name in here if not name.startswith('_')))\n"
    "warnings.warn('once')\n"
    "if not os.fork():\n    os._exit(0)\n"
    "print(os.wait()[1], flush=True)\n"
    "raise ValueError('the end')\n"
)


@pytest.mark.parametrize("version", _INSIDE)
def test_the_run_is_what_it_is_without_the_probe(version: str, torch: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_UNCHANGED)
    program = interpreters.found()[version]
    plain, probed = (
        run("train.py", folder=tmp_path / "run", probe=probe, python=program, path=(torch,), cwd=tmp_path)
        for probe in (False, True)
    )
    assert (probed.code, probed.output) == (plain.code, plain.output)
    assert probed.one(ProcessJoined).python.startswith(version + ".")
    assert probed.one(ExitStarted).steps == 3
    assert probed.all(ProbeFailed) == []


@pytest.mark.parametrize("version", _OUTSIDE)
def test_an_older_python_is_left_alone_and_the_journal_says_so(version: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.own = True\n")
    (tmp_path / "train.py").write_text(
        "import os, subprocess, sys\nprint(sys.own, sys.path)\n"
        "if len(sys.argv) == 1:\n    sys.stdout.flush()\n    subprocess.call([sys.executable, __file__, 'child'])\n"
    )
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "journal.jsonl").touch()
    program = interpreters.found()[version]
    plain, probed = (
        run("train.py", folder=folder, probe=probe, python=program, path=(tmp_path,), cwd=tmp_path)
        for probe in (False, True)
    )
    assert (probed.code, probed.output) == (plain.code, plain.output)
    assert (plain.code, plain.output.count("True")) == (0, 2)
    event = probed.one(ProbeLeftOut)
    assert event.python.startswith(version + ".") and event.implementation == "cpython"


def supervised(program: str, torch: Path, folder: Path) -> dict[str, Any]:
    """`holdfast run` of every script at once: what is seen of each, by its name."""
    started = {}
    for name, text in _ENDS.items():
        own = folder / name.replace(" ", "-")
        own.mkdir(parents=True)
        (own / "train.py").write_text(_STEPS + text)
        started[own] = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "run", "--run-dir", "run", "--stall-after", "3", "--on-stall", "stop",
             "--", program, "train.py"],
            cwd=own, env={**os.environ, "PYTHONPATH": str(torch)},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    codes = {own: process.wait(timeout=300) for own, process in started.items()}
    return {own.name: verdict_of(own / "run", code) for own, code in codes.items()}


def verdict_of(folder: Path, code: int) -> dict[str, Any]:
    verdict = json.loads((folder / "verdict.json").read_text())
    events = Run(code, "", folder)
    assert events.all(ProbeFailed) == []
    first = verdict["findings"][0] if verdict["findings"] else {}
    return {
        "code": code,
        "outcome": verdict["outcome"],
        "steps": verdict["step"],
        "cause": first.get("cause"),
        "strength": first.get("strength"),
        "facts": sorted(fact["kind"] for fact in first.get("because", [])),
    }


@pytest.fixture(scope="module")
def of_this_python(torch: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return supervised(sys.executable, torch, tmp_path_factory.mktemp("this"))


@pytest.mark.proof
@pytest.mark.parametrize("version", _INSIDE)
def test_the_verdicts_are_those_of_this_python(
    version: str, torch: Path, tmp_path: Path, of_this_python: dict[str, Any]
) -> None:
    assert supervised(interpreters.found()[version], torch, tmp_path) == of_this_python
    joined = [one.event for one in reader.read(tmp_path / "finishes" / "run" / "journal.jsonl")]
    assert any(isinstance(one, ProcessJoined) and one.python.startswith(version + ".") for one in joined)


@pytest.mark.proof
@pytest.mark.parametrize("version", _OUTSIDE)
def test_the_verdict_of_an_older_python_says_that_it_is_a_view_from_outside(
    version: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("raise ValueError('the end')\n")
    program = interpreters.found()[version]
    subprocess.run(
        [sys.executable, "-m", "holdfast", "run", "--run-dir", "run", "--", program, "train.py"],
        cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
    )  # fmt: skip
    verdict = json.loads((tmp_path / "run" / "verdict.json").read_text())
    assert (verdict["findings"][0]["cause"], verdict["findings"][0]["strength"]) == (
        "script-error",
        "established",
    )
    known = next(fact for fact in verdict["known"] if fact["kind"] == "probe.left-out")
    assert "from outside" in known["fact"] and f"Python {version}." in known["fact"]
