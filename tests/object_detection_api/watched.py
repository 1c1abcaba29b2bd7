"""One case: run the program under `holdfast run`, do to it what the case says, and ask for the verdict."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.journal import reader
from holdfast.journal.beats import BeatReader
from holdfast.journal.events import LossSeen, ProcessJoined, Stalled
from holdfast.journal.folder import RunFolder

from ..zoo import world
from ..zoo.trials import World
from .cases import Case
from .inputs import TEMPLATE, Data, write_config

BLAMING = ("established", "supported")
_HOLDFAST = [sys.executable, "-m", "holdfast"]
_EVALUATOR_WAITS_S = 150.0  # longer than the silence that was once called a stall
_CHECKPOINT_EVERY = 100


@dataclass(frozen=True)
class Setup:
    models: Path
    python: str
    data: Data
    folder: Path
    limit_s: float


@dataclass(frozen=True)
class Result:
    case: Case
    verdict: str
    wrong: str  # why it is not what the case expects; empty when it is
    steps: int
    seconds: float


def run(case: Case, setup: Setup) -> Result:
    folder = setup.folder / case.name.replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_config(
        folder / "pipeline.config", setup.models / TEMPLATE, case.config, record=case.record(setup.data, folder),
        label_map=case.label_map(setup.data, folder), classes=setup.data.classes,
    )  # fmt: skip
    model_dir = _model_dir(case, setup)
    started = time.monotonic()
    with _memory_limit(case) as enter:
        child = subprocess.Popen(
            [*enter, *_command(case, setup, folder, model_dir)], cwd=folder, env=_environment(setup),
            stdin=subprocess.DEVNULL, stdout=(folder / "holdfast.log").open("wb"), stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            if case.signal:
                _signal_once_ready(case, setup, folder, model_dir, child)
            child.wait(timeout=setup.limit_s)
        except subprocess.TimeoutExpired:
            return Result(case, "", f"not done after {setup.limit_s:.0f} s", 0, setup.limit_s)
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait(timeout=60)
    return _result(case, folder, time.monotonic() - started)


def again(case: Case, setup: Setup) -> Result | None:
    folder = setup.folder / case.name.replace(" ", "-")
    return _result(case, folder, 0.0) if (folder / "run").is_dir() else None


def _model_dir(case: Case, setup: Setup) -> Path:
    return setup.folder / (case.continues or case.name).replace(" ", "-") / "model"


def _command(case: Case, setup: Setup, folder: Path, model_dir: Path) -> list[str]:
    program = [
        setup.python, str(setup.models / "research/object_detection/model_main_tf2.py"), f"--model_dir={model_dir}",
        f"--pipeline_config_path={folder / 'pipeline.config'}", f"--checkpoint_every_n={_CHECKPOINT_EVERY}",
    ]  # fmt: skip
    if case.evaluates:
        program.append(f"--checkpoint_dir={model_dir}")
    return [*_HOLDFAST, "run", "--run-dir", str(folder / "run"), "--on-stall", case.on_stall, "--", *program]


def _environment(setup: Setup) -> dict[str, str]:
    research = setup.models / "research"
    paths = [str(research), str(research / "slim"), *filter(None, [os.environ.get("PYTHONPATH", "")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TF_CPP_MIN_LOG_LEVEL": "1"}


@contextmanager
def _memory_limit(case: Case) -> Iterator[list[str]]:
    if case.memory_mib is None:
        yield []
        return
    with world.control_groups(World(memory_mib=case.memory_mib), f"odapi-{os.getpid()}") as groups:
        yield world.entering(groups, {})


def _signal_once_ready(
    case: Case, setup: Setup, folder: Path, model_dir: Path, child: subprocess.Popen[bytes]
) -> None:
    log = folder / "holdfast.log"
    if case.evaluates:
        if _comes(lambda: b"Waiting for new checkpoint" in log.read_bytes(), child, setup.limit_s):
            time.sleep(_EVALUATOR_WAITS_S)
    elif not _comes(lambda: (model_dir / "ckpt-2.index").exists(), child, setup.limit_s):
        return
    os.kill(_pid(folder), case.signal)


def _comes(fact: Callable[[], bool], child: subprocess.Popen[bytes], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while child.poll() is None and time.monotonic() < deadline:
        if fact():
            return True
        time.sleep(0.2)
    return False


def _pid(folder: Path) -> int:
    events = reader.read(RunFolder(folder / "run").journal)
    return next(entry.pid for entry in events if isinstance(entry.event, ProcessJoined))


def _result(case: Case, folder: Path, seconds: float) -> Result:
    run_dir = folder / "run"
    asked = subprocess.run(
        [*_HOLDFAST, "explain", str(run_dir), "--json"], capture_output=True, text=True, check=False
    )
    verdict: dict[str, Any] = json.loads(asked.stdout) if asked.stdout.strip() else {}
    findings = verdict.get("findings", [])
    newest = BeatReader(RunFolder(run_dir).beats).newest()
    steps = newest.step if newest is not None else 0
    said = "; ".join(f"{one['cause']} ({one['strength']})" for one in findings) or verdict.get(
        "outcome", "no answer"
    )
    return Result(case, said, _wrong(case, run_dir, findings, steps), steps, seconds)


def _wrong(case: Case, run_dir: Path, findings: list[dict[str, Any]], steps: int) -> str:
    events = [entry.event for entry in reader.read(RunFolder(run_dir).journal)]
    blamed = [one["cause"] for one in findings if one["strength"] in BLAMING]
    if case.causes and (not blamed or blamed[0] not in case.causes):
        return f"expected {' or '.join(case.causes)}"
    if not case.causes and blamed:
        return "a healthy run is blamed"
    if case.evaluates and any(isinstance(event, Stalled) for event in events):
        return "waiting was called a stall"
    if case.true_steps is not None and steps != case.true_steps:
        return f"{case.true_steps} steps were done"
    if case.has_loss and not any(isinstance(event, LossSeen) for event in events):
        return "no loss was seen"
    return ""
