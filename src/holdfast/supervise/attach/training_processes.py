"""Training processes of this machine, and which of them somebody watches.

A process trains, as far as can be seen from outside, when it has the libraries of TensorFlow, JAX or torch loaded.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.host import procfs, ptrace_access
from holdfast.host.procfs import Stat
from holdfast.journal.folder import RUN_DIR_VARIABLE

#: A shared library that is loaded once the framework is imported.
_LIBRARIES = {
    "tensorflow": re.compile(rb"/tensorflow/.*\.so|/libtensorflow"),
    "jax": re.compile(rb"/jaxlib/.*\.so"),
    "torch": re.compile(rb"/torch/lib/libtorch|/libtorch_(?:cpu|python|cuda)"),
}
_MAX_DEPTH = 64
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_WITH_VALUE = ("--run-dir", "--stall-after")  # options of `attach` that are followed by a value
_COMMANDS = ("run", "train", "launch", "attach", "demo", "board", "top")


@dataclass(frozen=True, slots=True)
class TrainingProcess:
    pid: int
    command: str
    frameworks: tuple[str, ...]
    uptime_s: float
    cpu_s: float
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class Watcher:
    """A holdfast process that watches another one."""

    pid: int
    command: str
    run_dir: str = ""


def unwatched() -> list[TrainingProcess]:
    """The user's training processes that no Holdfast watches, the newest first; of a tree only the topmost."""
    stats = _own_processes()
    watched = {pid for pid in stats if any(_is_supervisor(words) for words in _above(pid, stats))}
    watched |= _attached(stats)
    found = {
        pid: frameworks
        for pid, stat in stats.items()
        if pid not in watched and stat.state not in "ZX" and (frameworks := frameworks_of(pid))
    }
    topmost = [pid for pid in found if not any(parent in found for parent in ancestors(pid, stats))]
    described = [_described(stats[pid], found[pid]) for pid in topmost]
    return sorted(described, key=lambda one: one.uptime_s)


def frameworks_of(pid: int) -> tuple[str, ...]:
    maps = procfs.read(f"/proc/{pid}/maps") or b""
    return tuple(name for name, library in _LIBRARIES.items() if library.search(maps))


def watcher_of(pid: int) -> Watcher | None:
    """Who watches this process: a supervisor above it, a companion in a notebook, or another `holdfast attach`."""
    stats = _own_processes()
    for above in ancestors(pid, stats):
        words = procfs.arguments(above)
        if _is_supervisor(words):
            return Watcher(above, " ".join(words), environment(pid).get(RUN_DIR_VARIABLE, ""))
    ours = {
        os.getpid(),
        *ancestors(os.getpid(), stats),
    }  # `sudo holdfast attach PID` has our words, and is above us
    for other in stats:
        words = procfs.arguments(other)
        if pid in _watches(words) and other not in ours:
            run_dir = words[-1] if "holdfast.supervise.companion" in words else _option(words, "--run-dir")
            return Watcher(other, " ".join(words), run_dir)
    return None


def uptime_s(stat: Stat) -> float:
    return max(0.0, _since_boot_s() - stat.started_ticks / _TICKS_PER_S)


def environment(pid: int) -> dict[str, str]:
    text = (procfs.read(f"/proc/{pid}/environ") or b"").decode(errors="replace")
    return dict(pair.split("=", 1) for pair in text.split("\0") if "=" in pair)


def is_holdfast(words: Sequence[str]) -> bool:
    """Holdfast itself: not its trainer, which is a process like any other."""
    return _subcommand(words) is not None or "holdfast.supervise.companion" in words


def _is_supervisor(words: Sequence[str]) -> bool:
    return _subcommand(words) in ("run", "train", "launch", "demo")


def _subcommand(words: Sequence[str]) -> str | None:
    """`run` of `holdfast run …` and of `python -m holdfast run …`; None for any other program."""
    for word, following in itertools.pairwise(words[:5]):
        if Path(word).name == "holdfast" and following in _COMMANDS:
            return following
    return None


def _watches(words: Sequence[str]) -> set[int]:
    """The processes that a companion or an attached Holdfast names in its command."""
    if "holdfast.supervise.companion" in words:
        return _numbers(words[words.index("holdfast.supervise.companion") + 1 :][:1])
    if _subcommand(words) != "attach":
        return set()
    after = list(words[words.index("attach") :])
    own = [word for word, before in zip(after[1:], after, strict=False) if before not in _WITH_VALUE]
    return _numbers(own)


def _attached(pids: Iterable[int]) -> set[int]:
    return {pid for other in pids for pid in _watches(procfs.arguments(other))}


def _numbers(words: Sequence[str]) -> set[int]:
    return {int(word) for word in words if word.isdigit()}


def _option(words: Sequence[str], name: str) -> str:
    return next((after for word, after in itertools.pairwise(words) if word == name), "")


def _own_processes() -> dict[int, Stat]:
    user = os.geteuid()
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (user == 0 or ptrace_access.owner(int(name)) == user):
            stat = procfs.stat(int(name))
            if stat is not None:
                found[stat.pid] = stat
    return found


def ancestors(pid: int, stats: Mapping[int, Stat] | None = None) -> list[int]:
    """The nearest first. What `stats` does not have is read."""
    found: list[int] = []
    while pid > 1 and len(found) < _MAX_DEPTH:
        stat = (stats or {}).get(pid) or procfs.stat(pid)
        if stat is None or stat.parent <= 0:
            break
        pid = stat.parent
        found.append(pid)
    return found


def _above(pid: int, stats: dict[int, Stat]) -> list[list[str]]:
    return [procfs.arguments(above) for above in ancestors(pid, stats)]


def _described(stat: Stat, frameworks: tuple[str, ...]) -> TrainingProcess:
    return TrainingProcess(
        pid=stat.pid,
        command=" ".join(procfs.arguments(stat.pid)),
        frameworks=frameworks,
        uptime_s=uptime_s(stat),
        cpu_s=stat.cpu_s,
        rss_bytes=stat.rss_bytes,
    )


def _since_boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
