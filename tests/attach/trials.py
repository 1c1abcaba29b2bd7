"""Start a program without Holdfast, wait until it hangs, attach to it, and mark the answer."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.explain.rank import GENERAL
from holdfast.host import procfs
from tests.zoo import runs, world
from tests.zoo.trials import Trial, all_trials

#: Programs that do not end by themselves. `holdfast run` reports each as a stall, or as a pass without an end.
STALLS = (
    "callback-blocked", "deadlock", "download-blocked", "epoch-never-ends", "epoch-never-ends-while", "exit-hang",
    "exit-hang-interrupted", "filter-never-passes", "fork-deadlock", "input-blocked", "input-blocked-beside",
    "loader-swallows-errors", "output-pipe-full", "output-pipe-full-helper", "peer-missing", "process-suspended",
    "validation-never-ends", "waiting-for-a-person", "worker-died", "worker-died-thread",
)  # fmt: skip
BLAMING = ("established", "supported")
_QUIET_S = 5.0
_QUIET_CPU_S = 0.15
_BEGUN_CPU_S = 1.5
_ANSWER_WITHIN_S = 120.0


@dataclass(frozen=True)
class Answer:
    """What `attach` said of one program."""

    trial: Trial
    word: str  # same | weaker | wrong; of a healthy one quiet | alarm; ended | no answer
    said: str = ""
    state: str = ""  # hangs | waits | moves
    exit_code: int | None = None
    seconds: float = 0.0
    unharmed: bool = True  # the process was still there, in the state it was in
    note: str = ""


def stalling() -> list[Trial]:
    return [
        trial
        for trial in all_trials()
        if trial.kind == "faulty" and trial.program.name.removesuffix(".py") in STALLS
    ]


def healthy() -> list[Trial]:
    """Healthy programs, and near misses of those that stall: some pause for long, and none hangs."""
    return [
        trial
        for trial in all_trials()
        if trial.kind == "healthy"
        or (trial.kind == "near" and trial.program.name.split(".")[0] in STALLS and not trial.causes)
    ]


def attach(trial: Trial, *, settle_s: float, limit_s: float, keep: Path | None = None) -> Answer:
    """`settle_s`: how long it has hung when somebody attaches; `limit_s`: a program that stays busy is attached to
    after this time."""
    with _started(trial) as (folder, child):
        _send_signal(trial, folder, child, limit_s)
        if not _await_hang(child, settle_s=settle_s, limit_s=limit_s):
            return Answer(trial, "ended", note=f"exit code {child.returncode}")
        return _answer(trial, child, (keep or folder) / runs.folder_name(trial))


def attach_to_healthy(trial: Trial, *, first_after_s: float, most: int, keep: Path | None = None) -> Answer:
    """Several times while it runs. One answer that blames it, or calls it hung, is a false alarm."""
    with _started(trial) as (folder, child):
        time.sleep(first_after_s)
        answers: list[Answer] = []
        for number in range(most):
            if child.poll() is not None:
                break
            answers.append(_answer(trial, child, (keep or folder) / f"{runs.folder_name(trial)}-{number}"))
        answers = [one for one in answers if one.exit_code != 2]  # it ended meanwhile
        if not answers:
            return Answer(trial, "ended", note=f"exit code {child.poll()}")
        alarms = [one for one in answers if one.state == "hangs" or any(word in one.said for word in BLAMING)]
        doing = ", ".join(dict.fromkeys(one.note for one in answers))
        return replace(
            (alarms or answers)[-1],
            word="alarm" if alarms else "quiet",
            note=f"{len(answers)} times: {doing}",
        )


@contextlib.contextmanager
def _started(trial: Trial) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """The program without Holdfast, its output in a file; whatever is left of it is killed."""
    with (
        world.work_folder(trial) as (folder, program),
        world.standard_input(trial.world.stdin) as stdin,
        (folder / "output.txt").open("wb") as output,
    ):
        child = subprocess.Popen(
            [sys.executable, program.name], cwd=folder, stdin=stdin, stdout=output, stderr=subprocess.STDOUT,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **trial.environment}, start_new_session=True,
        )  # fmt: skip
        try:
            yield folder, child
        finally:
            for pid in [child.pid, *procfs.descendants(child.pid), *runs.at_work_in(folder)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            child.wait()


def attach_all(trials: list[Trial], attach_to: Callable[[Trial], Answer], *, jobs: int) -> list[Answer]:
    """Several at a time: a program that hangs takes no CPU."""
    waiting, answers = list(trials), dict[str, Answer]()
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if not waiting:
                    return
                trial = waiting.pop(0)
            try:
                answer = attach_to(trial)
            except world.CannotMake as error:
                answer = Answer(trial, "no answer", note=str(error))
            answers[trial.name] = answer
            print(line(answer), file=sys.stderr, flush=True)

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [answers[trial.name] for trial in trials]


def mark(trial: Trial, verdict: dict[str, Any]) -> tuple[str, str]:
    """Whether it is what `run` says, or less, or something else."""
    findings = verdict["findings"]
    if not findings:
        return "weaker", "-"
    said = f"{findings[0]['cause']} ({findings[0]['strength']})"
    if findings[0]["cause"] in trial.causes:
        return ("same" if findings[0]["strength"] in BLAMING else "weaker"), said
    general = any(cause in GENERAL.get(findings[0]["cause"], ()) for cause in trial.causes)
    if general or findings[0]["strength"] not in BLAMING or findings[0]["cause"] == "unknown":
        return "weaker", said
    return "wrong", said


def line(answer: Answer) -> str:
    more = f"  {answer.note}" if answer.note else ""
    harmed = "" if answer.unharmed else "  HARMED"
    return (
        f"{answer.word:<9} {answer.trial.name:<36} {answer.state:<6} {answer.said:<40} "
        f"{answer.seconds:5.1f} s{harmed}{more}"
    )


def _send_signal(trial: Trial, folder: Path, child: subprocess.Popen[bytes], limit_s: float) -> None:
    if not trial.world.send:
        return
    until = time.monotonic() + limit_s
    ready = folder / "ready"
    while time.monotonic() < until and child.poll() is None and not (ready.exists() and ready.read_text()):
        time.sleep(0.1)
    if ready.exists():
        os.kill(int(ready.read_text()), signal.Signals[trial.world.send["signal"]])


def _await_hang(child: subprocess.Popen[bytes], *, settle_s: float, limit_s: float) -> bool:
    """False when it ended."""
    started = quiet_since = time.monotonic()
    before = 0.0
    while time.monotonic() - started < limit_s:
        if child.poll() is not None:
            return False
        cpu_s = _tree_cpu_s(child.pid)
        if cpu_s - before > _QUIET_CPU_S or cpu_s < _BEGUN_CPU_S:
            quiet_since = time.monotonic()
        before = cpu_s
        if time.monotonic() - quiet_since >= settle_s:
            return True
        time.sleep(_QUIET_S)
    return True


def _tree_cpu_s(pid: int) -> float:
    stats = [procfs.stat(one) for one in (pid, *procfs.descendants(pid))]
    return sum(one.cpu_s for one in stats if one is not None)


def _answer(trial: Trial, child: subprocess.Popen[bytes], run_dir: Path) -> Answer:
    before = procfs.stat(child.pid)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "attach", str(child.pid), "--run-dir", str(run_dir), "--json"],
        capture_output=True, text=True, timeout=_ANSWER_WITHIN_S, check=False,
    )  # fmt: skip
    seconds = time.monotonic() - started
    after = procfs.stat(child.pid)
    unharmed = before is not None and after is not None and (before.state == "T") == (after.state == "T")
    try:
        verdict = json.loads(done.stdout)
        now = verdict["now"]
    except (ValueError, KeyError):
        return Answer(trial, "no answer", exit_code=done.returncode, seconds=seconds, note=done.stderr[-300:])
    word, said = mark(trial, verdict)
    state = "hangs" if verdict["outcome"] == "stalled" else "moves" if now["moves"] else "waits"
    return Answer(trial, word, said, state, done.returncode, seconds, unharmed, now["doing"])
