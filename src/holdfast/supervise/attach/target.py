"""Which process to attach to, and why not to some."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import HoldfastError, UsageError
from holdfast.host import procfs, ptrace_access
from holdfast.host.procfs import Stat
from holdfast.supervise.attach import training_processes
from holdfast.supervise.attach.training_processes import TrainingProcess
from holdfast.supervise.stack_capture import syscalls
from holdfast.supervise.stack_capture.capture import looks_like_python
from holdfast.units import long_duration

_MAX_LISTED = 10


class NoSuchProcess(HoldfastError):
    """There is no process with this number, or it has ended."""

    slug = "no-such-process"


class CannotAttach(HoldfastError):
    """The process is not one that can be watched from here."""

    slug = "cannot-attach"


class AlreadyWatched(HoldfastError):
    """A Holdfast watches the process already."""

    slug = "already-watched"


@dataclass(frozen=True, slots=True)
class Target:
    """A Python process that may be watched."""

    pid: int
    trainer: int  # itself, or the process below it that trains
    command: tuple[str, ...]
    cwd: str
    uptime_s: float
    frameworks: tuple[str, ...]


def find_target(word: str | None) -> Target:
    """The process that the user named. Raises what is wrong with it, and what to do instead."""
    pid = _pid(word)
    stat = procfs.stat(pid)
    if stat is None:
        raise NoSuchProcess(
            f"there is no process {pid}", where="the command line", found=_candidates(), change=_change()
        )
    if stat.state in "ZX":
        raise _ended(stat)
    words = procfs.arguments(pid)
    if pid == os.getpid() or training_processes.is_holdfast(words):
        raise _is_holdfast(stat, words)
    _refuse_others(stat, words)
    trainer = _trainer(stat, words)
    watcher = training_processes.watcher_of(trainer)
    if watcher is not None:
        raise AlreadyWatched(
            f"process {pid} is watched already, by process {watcher.pid}",
            where=watcher.command[:200],
            found=f"its run folder is {watcher.run_dir}" if watcher.run_dir else "",
            change=f"holdfast explain {watcher.run_dir or 'RUN'}; holdfast top lists all runs",
        )
    return Target(
        pid=pid,
        trainer=trainer,
        command=tuple(words) or (stat.name,),
        cwd=_cwd(pid),
        uptime_s=training_processes.uptime_s(stat),
        frameworks=training_processes.frameworks_of(trainer),
    )


def describe(process: TrainingProcess) -> str:
    """``4711  up 2 h 5 min  tensorflow  python train.py``"""
    frameworks = "+".join(process.frameworks)
    program, space, rest = process.command.partition(" ")
    command = _short(f"{os.path.basename(program)}{space}{rest}")
    return f"{process.pid}  up {long_duration(process.uptime_s)}  {frameworks}  {command}"


def _pid(word: str | None) -> int:
    if word is None:
        raise UsageError(
            "which process? give its number (PID)",
            where="the command line",
            found=_candidates(),
            change=_change(),
        )
    if not word.isdigit() or not 0 < int(word) < 1 << 31:
        raise UsageError(
            f"{word!r} is not the number of a process (PID)",
            where="the command line",
            found=_candidates(),
            change=_change(),
        )
    return int(word)


def _candidates() -> list[str]:
    found = training_processes.unwatched()
    if not found:
        return ["no process of yours that nobody watches has TensorFlow, JAX or torch loaded"]
    lines = ["training processes that nobody watches:", *map(describe, found[:_MAX_LISTED])]
    return lines if len(found) <= _MAX_LISTED else [*lines, f"and {len(found) - _MAX_LISTED} more"]


def _change() -> str:
    found = training_processes.unwatched()
    return (
        f"holdfast attach {found[0].pid}" if found else "ps -ef | grep python shows the numbers of processes"
    )


def _ended(stat: Stat) -> NoSuchProcess:
    return NoSuchProcess(
        f"process {stat.pid} has ended; its parent, process {stat.parent}, has not asked for its exit code yet",
        where=f"[{stat.name}], a zombie",
        found=f"the parent: {_shown(procfs.arguments(stat.parent))}",
        change=f"holdfast attach {stat.parent} if the parent hangs",
    )


def _is_holdfast(stat: Stat, words: list[str]) -> CannotAttach:
    below = [pid for pid in procfs.descendants(stat.pid) if looks_like_python(pid)]
    runs = [training_processes.environment(pid).get("HOLDFAST_RUN_DIR", "") for pid in below]
    run_dir = next((run for run in runs if run), "")
    return CannotAttach(
        f"process {stat.pid} is Holdfast itself",
        where=_shown(words),
        found=f"the run that it watches is in {run_dir}" if run_dir else "",
        change=f"holdfast explain {run_dir}" if run_dir else "give the number of the training process",
    )


def _refuse_others(stat: Stat, words: list[str]) -> None:
    owner, own = ptrace_access.owner(stat.pid), os.geteuid()
    if own == 0 or owner in (own, None):
        return
    raise CannotAttach(
        f"process {stat.pid} belongs to another user, {_user(owner)}",
        where=_shown(words) or f"[{stat.name}]",
        change=[f"sudo holdfast attach {stat.pid}", f"or, as that user: holdfast attach {stat.pid}"],
    )


def _trainer(stat: Stat, words: list[str]) -> int:
    """The process that trains: the one itself, or below it the first that has a framework loaded.

    Below a program that is not Python, such as a shell, there must be one tree of Python processes only.
    """
    below = procfs.descendants(stat.pid)
    tree = [pid for pid in (stat.pid, *below) if looks_like_python(pid)]
    topmost = [pid for pid in tree if not _is_below(pid, tree)]
    if len(topmost) == 1:
        training = [pid for pid in tree if training_processes.frameworks_of(pid)]
        return next((pid for pid in training if not _waits_for_child(pid)), (training or topmost)[0])
    where = _shown(words) or f"[{stat.name}]"
    if not topmost:
        raise CannotAttach(
            f"process {stat.pid} is not Python, and no Python process is below it",
            where=where,
            found=_candidates(),
            change=_change(),
        )
    listed = [f"{pid}  {_shown(procfs.arguments(pid))}" for pid in topmost[:_MAX_LISTED]]
    raise CannotAttach(
        f"process {stat.pid} is not Python, and several Python processes are below it",
        where=where,
        found=listed,
        change=f"give one of them: holdfast attach {topmost[0]}",
    )


def _waits_for_child(pid: int) -> bool:
    """A launcher that has the framework loaded too."""
    call = syscalls.current_syscall(pid, pid)
    return call is not None and call.name in ("wait4", "waitid")


def _is_below(pid: int, others: list[int]) -> bool:
    return any(above in others for above in training_processes.ancestors(pid))


def _cwd(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""


def _user(number: int | None) -> str:
    try:
        return pwd.getpwuid(number if number is not None else -1).pw_name
    except (KeyError, OverflowError):
        return str(number)


def _shown(words: list[str]) -> str:
    return _short(" ".join(words))


def _short(command: str, width: int = 100) -> str:
    line = " ".join(command.split())
    return line if len(line) <= width else line[: width - 1] + "…"
