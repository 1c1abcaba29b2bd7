"""One script: reduce it, run it under `holdfast run` and bare, and compare what Holdfast says with the counts."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from holdfast.explain import explain
from holdfast.journal import reader
from holdfast.journal.events import FitDone
from holdfast.journal.folder import RunFolder
from holdfast.report.verdict_json import as_json

from .reduced import backend_of, packages, reduced
from .scripts import Script

_HOLDFAST = [sys.executable, "-m", "holdfast"]
_STAND_INS = Path(__file__).parent / "stand_ins"
_BLAMING = ("established", "supported")
_VALUE = re.compile(r"\b([A-Za-z_][\w ]*?)(?::| is| =) *(-?\d+\.\d+(?:e[+-]?\d+)?|nan|inf)\b")


@dataclass
class Result:
    name: str
    backend: str
    outcome: str = ""
    blamed: list[str] = field(default_factory=list)  # causes, with their strength
    rightly: list[str] = field(default_factory=list)  # of a fault that the published script has
    said: list[str] = field(default_factory=list)  # every finding
    steps: int | None = None
    true_steps: int | None = None
    epochs: int | None = None
    true_epochs: int | None = None
    failed_parts: list[str] = field(default_factory=list)
    losses: str = "not compared"
    not_counted: str = ""  # why the script says nothing: it did not run to its end
    seconds: float = 0.0

    def wrong(self) -> list[str]:
        faults = [f"blamed: {one}" for one in self.blamed]
        if self.outcome != "finished" and not self.blamed:
            faults.append(f"outcome {self.outcome}")
        if self.true_steps is not None and self.steps != self.true_steps:
            faults.append(f"{self.steps} of {self.true_steps} steps seen")
        if self.true_epochs is not None and self.epochs != self.true_epochs:
            faults.append(f"{self.epochs} of {self.true_epochs} epochs seen")
        faults += [f"a part of the probe failed: {one}" for one in self.failed_parts]
        return [*faults, *([self.losses] if self.losses.startswith("changed") else [])]

    def row(self) -> dict[str, Any]:
        return {**asdict(self), "wrong": self.wrong()}


def run(script: Script, sources: Path, folder: Path, *, backend: str, limit_s: float, bare: bool) -> Result:
    source = (sources / script.path).read_text(encoding="utf-8")
    backend = backend or backend_of(source, script.backend)
    missing = [one for one in packages(source) if not _importable(one)]
    if missing:
        return Result(script.name, backend, not_counted=f"not installed: {', '.join(missing)}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    copy = reduced(source, backend=backend, epochs=script.epochs, changes=script.changes)
    started = time.monotonic()
    watched = [*_HOLDFAST, "run", "--run-dir", str(folder / "run"), "--"]
    in_time = _finishes(script, copy, folder / "watched", watched, backend, limit_s)
    seconds = time.monotonic() - started
    if bare and in_time:
        _finishes(script, copy, folder / "bare", [], backend, limit_s)
    (folder / "about.json").write_text(
        json.dumps({"backend": backend, "in_time": in_time, "seconds": round(seconds, 1)})
    )
    return marked(script, folder)


def add_bare(script: Script, folder: Path, limit_s: float) -> Result:
    """The same copy once more, without Holdfast; the watched run is kept."""
    about = json.loads((folder / "about.json").read_text())
    copy = (folder / "watched" / Path(script.path).name).read_text(encoding="utf-8")
    shutil.rmtree(folder / "bare", ignore_errors=True)
    _finishes(script, copy, folder / "bare", [], about["backend"], limit_s)
    return marked(script, folder)


def marked(script: Script, folder: Path, *, again: bool = False) -> Result:
    """What is said about a run folder, compared with the counts; nothing is trained."""
    about = json.loads((folder / "about.json").read_text())
    result = Result(script.name, about["backend"], seconds=about["seconds"])
    _read_verdict(folder / "run", result, again=again)
    counted_path = folder / "watched" / "counts.json"
    counted = json.loads(counted_path.read_text()) if counted_path.exists() else {}
    result.not_counted = _why_not_counted(folder, about, counted)
    result.true_steps, result.true_epochs = script.truth(counted)
    result.rightly = [one for one in result.blamed if one.partition(" ")[0] in script.faults]
    result.blamed = [one for one in result.blamed if one not in result.rightly]
    if result.true_epochs is not None:
        result.epochs = _epochs(folder / "run")
    result.losses = _losses(folder)
    return result


def _importable(package: str) -> bool:
    return (_STAND_INS / package).is_dir() or importlib.util.find_spec(package) is not None


def _finishes(
    script: Script, copy: str, folder: Path, before: list[str], backend: str, limit_s: float
) -> bool:
    folder.mkdir()
    path = folder / Path(script.path).name
    path.write_text(copy, encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    environment = {
        **os.environ, "PYTHONPATH": str(_STAND_INS), "KERAS_BACKEND": backend, "MPLBACKEND": "Agg", "HOME": str(home),
        "KERAS_HOME": str(home / ".keras"), "TF_CPP_MIN_LOG_LEVEL": "2", "PUBLIC_COUNTS": str(folder / "counts.json"),
        "PUBLIC_FILES": script.files, "PYTHONHASHSEED": "0",
        "PUBLIC_TABLES": "1" if "read_csv" in copy or "loadtxt" in copy else "", **script.environment,
    }  # fmt: skip
    child = subprocess.Popen(
        [*before, sys.executable, path.name], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=(folder / "output.txt").open("wb"), stderr=(folder / "errors.txt").open("wb"), start_new_session=True,
    )  # fmt: skip
    try:
        code = child.wait(timeout=limit_s)
        (folder / "code").write_text(str(code))
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


def _why_not_counted(folder: Path, about: dict[str, Any], counted: dict[str, Any]) -> str:
    if not about["in_time"]:
        return "over the time limit"
    if (folder / "watched" / "code").read_text() != "0":
        lines = (folder / "watched" / "errors.txt").read_text(errors="replace").splitlines()
        raised = [one for one in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", one)]
        here = f"{(folder / 'watched').absolute()}/"  # no path of this machine on the page
        return "it fails: " + (raised[-1].replace(here, "")[:120] if raised else "no error was printed")
    if (
        not counted.get("batches")
        and not any(counted.get("updates", []))
        and not (counted.get("train_on_batch") or counted.get("torch_steps"))
    ):
        return "it trains nothing"
    return ""


def _read_verdict(run_dir: Path, result: Result, *, again: bool) -> None:
    """As the run itself said it, or as Holdfast says it now."""
    path = RunFolder(run_dir).verdict
    stored = path.exists() and not again
    verdict: dict[str, Any] = json.loads(path.read_text()) if stored else as_json(explain(run_dir))
    findings = verdict.get("findings", [])
    result.outcome = verdict.get("outcome", "no answer")
    result.steps = verdict.get("step") or 0
    result.said = [f"{one['cause']} ({one['strength']})" for one in findings]
    result.blamed = [
        f"{one['cause']} ({one['strength']})" for one in findings
        if one["strength"] in _BLAMING and not one.get("normal")
    ]  # fmt: skip
    result.failed_parts = [str(one) for one in verdict.get("known", []) if "part of the probe" in str(one)]


def _epochs(run_dir: Path) -> int:
    events = [entry.event for entry in reader.read(RunFolder(run_dir).journal)]
    return sum(one.epochs_done for one in events if isinstance(one, FitDone))


def _losses(folder: Path) -> str:
    if not (folder / "bare" / "code").exists():
        return "not compared"
    bare, watched = (values(folder / part / "output.txt") for part in ("bare", "watched"))
    if bare == watched:
        return f"equal ({len(bare)})" if bare else "none printed"
    at = next(
        (at for at, pair in enumerate(zip(bare, watched, strict=False)) if pair[0] != pair[1]),
        min(len(bare), len(watched)),
    )
    return f"changed: value {at + 1} of {len(bare)} bare, {len(watched)} watched"


def values(path: Path) -> list[tuple[str, str]]:
    """Every named number at the end of a printed line; a progress bar redraws its line, and its last state counts."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", path.read_bytes().decode(errors="replace"))
    last = [re.split(r"[\r\x08]+", line.rstrip("\r\x08"))[-1] for line in text.split("\n")]
    return [
        (name.strip(), value)
        for line in last
        for name, value in _VALUE.findall(line)
        if "time" not in name.lower()
    ]
