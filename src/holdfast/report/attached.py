"""What an attached process does now, as text: one line that answers, and a block with what was seen."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from holdfast.journal.events import ProcessObserved
from holdfast.report.text import BOLD, PLAIN, RED, labelled
from holdfast.units import count, duration, long_duration, size

_GREEN = "\x1b[32m"
_MIN_GROWTH_BYTES = 4 << 20  # while watched; less is not called growth
_BUSY_SHARE = 0.02  # of a core
_STATES = {
    "R": "runs",
    "D": "waits for the disk or a mount",
    "T": "is suspended",
    "t": "is stopped by a debugger",
    "Z": "has ended (zombie)",
}
_CALLS = (
    (re.compile(r"futex"), "waits for a lock or another thread"),
    (re.compile(r"(clock_)?nanosleep"), "sleeps"),
    (re.compile(r"wait4|waitid"), "waits for a child process to end"),
    (re.compile(r"(read|pread64|readv|preadv|recvfrom|recvmsg)\b"), "reads"),
    (re.compile(r"(write|writev|sendto|sendmsg)\b"), "writes to"),
    (re.compile(r"open(at)?\b"), "opens"),
    (re.compile(r"connect\b"), "connects to"),
    (re.compile(r"accept4?\b"), "waits for a connection at"),
    (re.compile(r"flock|fcntl"), "waits for the lock of"),
    (re.compile(r"p?poll|epoll|p?select"), "waits for descriptors"),
)
_REFUSALS = {
    "yama": (
        "the kernel lets only a parent read the stacks of its children (kernel.yama.ptrace_scope)",
        ("sudo holdfast attach {pid}", "or until the next boot: sudo sysctl kernel.yama.ptrace_scope=0"),
    ),
    "yama-nobody": (
        "the kernel lets nobody read stacks until the next boot (kernel.yama.ptrace_scope=3)",
        ("start the next training with: holdfast run -- …",),
    ),
    "container": (
        "this container has no CAP_SYS_PTRACE",
        (
            "on the host: sudo holdfast attach PID, with the number that ps shows there",
            "Kubernetes: kubectl debug -it POD --image=IMAGE --target=CONTAINER --profile=general",
            "the next container: docker run --cap-add SYS_PTRACE …",
        ),
    ),
    "not-dumpable": (
        "the process, or the file it was started from, forbids it",
        ("sudo holdfast attach {pid}",),
    ),
    "other-user": ("the process belongs to another user", ("sudo holdfast attach {pid}",)),
}


def answer(observed: ProcessObserved, *, pid: int, stalled: bool, colour: bool = False) -> str:
    """The first line."""
    if stalled:
        text = f"process {pid} hangs: " + _silence(observed)
    elif observed.moves:
        text = f"process {pid} moves: {observed.doing if observed.doing != 'unknown' else 'it works'}"
    else:
        text = f"process {pid} waits: nothing moved in the {duration(observed.watched_s)} watched"
        text += ", which is too short to call it a hang"
    shade = RED if stalled else _GREEN if observed.moves else ""
    return f"{shade}{BOLD}holdfast: {text}{PLAIN}" if colour else f"holdfast: {text}"


def render(
    observed: ProcessObserved,
    *,
    pid: int,
    command: Sequence[str],
    cwd: str = "",
    width: int = 80,
    colour: bool = False,
) -> str:
    """The block below it. What is not known is left out."""
    blocks: list[tuple[str, list[str]]] = [
        ("process", [f"{pid}, up {long_duration(observed.uptime_s)}: {_clip(' '.join(command), 160)}"]),
        ("phase", _phase(observed, cwd)),
    ]
    for thread in observed.threads:
        blocks.append(("main" if thread.get("main") else "thread", _thread(thread, cwd)))
    blocks += [
        ("stacks", _unreadable(observed, pid)),
        ("memory", [_memory(observed)]),
        ("cpu", [_work(observed)]),
        ("gpu", [_gpu(gpu) for gpu in observed.gpus]),
        ("child", [_child(child, cwd) for child in observed.children]),
        ("files", _files(observed, cwd)),
        ("output", [_output(stream) for stream in observed.output]),
    ]
    lines = [f"seen in {duration(observed.watched_s)}:"]
    for label, texts in blocks:
        lines += labelled(label, texts, width=width, colour=colour)
    return "\n".join(lines)


def _silence(observed: ProcessObserved) -> str:
    if observed.idle_s is not None:
        return f"nothing of it has run for {long_duration(observed.idle_s)}"
    return f"it made no progress in the {duration(observed.watched_s)} watched"


def _phase(observed: ProcessObserved, cwd: str) -> list[str]:
    if observed.doing in ("", "unknown"):
        return []
    where = f" ({short_place(observed.where, cwd)})" if observed.where else ""
    return [f"{observed.doing}{where}, by its stacks"]


def _thread(thread: dict[str, Any], cwd: str) -> list[str]:
    name = "" if thread.get("main") else f"{thread.get('name') or thread.get('thread')}: "
    code = f": `{_clip(thread['code'], 90)}`" if thread.get("code") else ""
    where = thread.get("where")
    inside = f", inside {short_place(thread['inside'], cwd)}" if thread.get("inside") else ""
    first = [f"{name}{short_place(where, cwd)}{code}{inside}"] if where else []
    doing = _doing(thread)
    return [*first, doing] if first else [f"{name}{doing}"]


def _doing(thread: dict[str, Any]) -> str:
    share = thread.get("cpu_share") or 0.0
    if share >= _BUSY_SHARE:
        return f"runs, {share:.2f} cores"
    state = _STATES.get(thread.get("state", ""))
    text = _STATES["R"] if state == _STATES["R"] else _call(thread.get("syscall", "")) or state
    text = text or (f"waits in {thread['wait']}" if thread.get("wait") else "waits")
    if thread.get("other_end"):
        text += f" ({thread['other_end']})"
    if thread.get("syscall"):
        text += ", without a time limit" if thread.get("endless") else ", for a time"
    idle_s = thread.get("idle_s")
    return text + (f"; has not run for {long_duration(idle_s)}" if idle_s is not None and idle_s >= 1 else "")


def _call(syscall: str) -> str:
    """``read fd=7 (/data/a.fifo)`` as "reads /data/a.fifo"."""
    for pattern, words in _CALLS:
        if pattern.match(syscall):
            file = re.search(r"\((.+)\)", syscall)
            return f"{words} {file[1]}" if file else words
    return f"waits in {syscall}" if syscall else ""


def _unreadable(observed: ProcessObserved, pid: int) -> list[str]:
    if observed.refusal in _REFUSALS:
        why, advice = _REFUSALS[observed.refusal]
        return [f"not readable: {why}", *(line.format(pid=pid) for line in advice)]
    if "not installed" in observed.unreadable:
        return ["not readable: py-spy is not installed; pip install py-spy"]
    return [f"not readable: {observed.unreadable}"] if observed.unreadable else []


def _memory(observed: ProcessObserved) -> str:
    grown = observed.rss_grown_bytes
    if abs(grown) < _MIN_GROWTH_BYTES:
        return f"{size(observed.rss_bytes)}, steady"
    a_second = size(abs(grown) / max(observed.watched_s, 0.1))
    return f"{size(observed.rss_bytes)}, {'grows' if grown > 0 else 'shrinks'} by {a_second}/s"


def _work(observed: ProcessObserved) -> str:
    moved = [
        f"{size(moved_bytes / max(observed.watched_s, 0.1))}/s {what}"
        for moved_bytes, what in ((observed.read_bytes, "read"), (observed.written_bytes, "written"))
        if moved_bytes >= 1024
    ]
    return f"{observed.cpu_share:.1f} cores; " + (", ".join(moved) or "nothing read or written")


def _gpu(gpu: dict[str, Any]) -> str:
    text = f"{gpu.get('name') or 'GPU'}: {size(gpu.get('used_bytes'))} of {size(gpu.get('total_bytes'))} used"
    if gpu.get("ours_bytes"):
        text += f", {size(gpu['ours_bytes'])} by this process"
    text += f", {gpu['utilisation']} % busy" if gpu.get("utilisation") is not None else ""
    return text + (f" ({gpu['ours_utilisation']} % by it)" if gpu.get("ours_utilisation") is not None else "")


def _child(child: dict[str, Any], cwd: str) -> str:
    memory = f", {size(child['rss_bytes'])}" if child.get("rss_bytes") else ""
    where = f" at {short_place(child['where'], cwd)}" if child.get("where") else ""
    share = child.get("cpu_share") or 0.0
    doing = _STATES.get(child.get("state", "")) or _call(child.get("syscall", "")) or "waits"
    doing = f"runs, {share:.2f} cores" if share >= _BUSY_SHARE else doing
    return f"{child['pid']} {_clip(child['command'], 60)}{memory}: {doing}{where}"


def _files(observed: ProcessObserved, cwd: str) -> list[str]:
    if observed.open_files is None:
        return []
    named = ", ".join(_short_path(file, cwd) for file in observed.files)
    return [f"{count(observed.open_files, 'descriptor')} open" + (f": {named}" if named else "")]


def _output(stream: dict[str, Any]) -> str:
    silent_s = stream.get("silent_s")
    written = f", last written {long_duration(silent_s)} ago" if silent_s is not None else ""
    return f"{stream['stream'].replace('output', 'all')} to {stream['to']}{written}"


def short_place(place: str, cwd: str) -> str:
    return _short_path(place, cwd)


def _short_path(path: str, cwd: str) -> str:
    """From the folder on that the command was started in; of an installed package, from the package on."""
    if cwd and path.startswith(cwd.rstrip(os.sep) + os.sep):
        return path[len(cwd.rstrip(os.sep)) + 1 :]
    return re.sub(r"^.*/(?:(?:site|dist)-packages|lib/python3\.\d+)/", "", path)


def _clip(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
