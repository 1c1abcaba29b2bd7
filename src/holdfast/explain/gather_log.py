"""Reads a log, or standard input, into `Evidence`, with what the machine still knows of its end."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from holdfast.errors import NotALog
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.from_log import evidence_of
from holdfast.explain.readings.end import KERNEL_LOG
from holdfast.host import cgroup, kernel_log
from holdfast.host.log_writers import log_writers
from holdfast.journal import events as ev
from holdfast.journal.folder import RunFolder
from holdfast.printed.log_scan import is_text, scan
from holdfast.regular_file import open_regular

_FIRST_BYTES = 64 << 10
_STDIN = "stdin"
_PROGRAMS = (".py", ".ipynb")
_COMPRESSED = {b"\x1f\x8b": "zcat", b"\xfd7zXZ": "xzcat", b"BZh": "bzcat", b"\x28\xb5\x2f\xfd": "zstdcat"}
#: Seconds between the last line of a log and the kernel's line about the process that wrote it. Chosen: longer than a
#: step and its output take to reach the file, and short enough that few others are killed in it.
_SAME_END_S = 60.0


def gather_log(path: Path | None, *, now: float, ask_machine: bool = True) -> Evidence:
    """The evidence of the run that printed this; None reads standard input, which may come from anywhere."""
    if path is not None:
        _refuse_other_files(path)
        with open_regular(path) as file:
            evidence = _read(file, path, name=path.name, written_at=path.stat().st_mtime, now=now)
        return _with_machine(evidence, path) if ask_machine else evidence
    if sys.stdin is None or sys.stdin.isatty():
        raise NotALog(
            "standard input is a terminal, and a log is expected on it",
            change=["holdfast explain train.log", "kubectl logs POD | holdfast explain -"],
        )
    return _read(sys.stdin.buffer, Path(), name=_STDIN, written_at=0.0, now=now)


def _refuse_other_files(path: Path) -> None:
    """Text that is no log would be judged as one that ended well."""
    run = RunFolder(path.parent)
    if path in (run.journal, run.vitals, run.beats, run.verdict):
        what = f"{path.name} is one of the records of the run {run.name}"
        raise NotALog(what, where=path, change=f"holdfast explain {run.path}")
    if path.suffix in _PROGRAMS:
        raise NotALog(
            f"{path.name} is a program, and not what it printed",
            where=path,
            change=[NotALog.advice, "or watch it: holdfast run -- python train.py"],
        )


def _read(file: BinaryIO, path: Path, *, name: str, written_at: float, now: float) -> Evidence:
    first = file.read(_FIRST_BYTES)
    if not first.strip():
        raise NotALog(f"{name} is empty", where=name)
    unpack = next((tool for magic, tool in _COMPRESSED.items() if first.startswith(magic)), "")
    if unpack:
        change = f"{unpack} {path if path.name else 'FILE'} | holdfast explain -"
        raise NotALog(f"{name} is compressed", where=name, change=change)
    if not is_text(first):
        raise NotALog(f"{name} is not text", where=name, found="bytes that no log has")
    log = scan(file, first)
    return evidence_of(log, name=name, path=path, written_at=written_at, now=now)


# -- what the machine still knows ------------------------------------------------------------------------


def _with_machine(evidence: Evidence, path: Path) -> Evidence:
    if evidence.went_wrong and evidence.exit_signal != "SIGKILL":
        return evidence  # the log says itself how it ended
    writers = [] if evidence.went_wrong else log_writers(path)
    if writers:
        values = {"pid": writers[0].pid, "command": writers[0].command}
        running = tuple(one for one in evidence.entries if not isinstance(one.event, ev.AttemptEnded))
        known = (Fact("log.written-by", values, f"/proc/{writers[0].pid}/fd"), *evidence.missing)
        return replace(evidence, entries=running, alive=True, missing=known)
    if evidence.ended is not None and not evidence.went_wrong:
        return evidence
    return _with_kernel_log(replace(evidence, missing=(*_kills_counted(), *evidence.missing)), path)


def _kills_counted() -> tuple[Fact, ...]:
    kills = cgroup.read(cgroup.find()).oom_kills
    return (Fact("machine.oom-kills", {"kills": kills}, "memory.events"),) if kills else ()


def _with_kernel_log(evidence: Evidence, path: Path) -> Evidence:
    """The kernel's own line about the process: by its number, or by the time at which the log stops."""
    written_at, booted_at = path.stat().st_mtime, time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)
    lines = kernel_log.read(since=written_at - booted_at - _SAME_END_S)
    killed = {line.text: booted_at + line.at for line in lines if kernel_log.killed_pid([line.text])}
    pid = evidence.end_words.pid if evidence.end_words is not None else None
    same = [text for text in killed if pid is not None and kernel_log.killed_pid([text]) == pid]
    if same and evidence.ended is not None:
        ended = replace(evidence.ended, event=evidence.ended.event.changed(kernel_log=same))
        return replace(evidence, entries=(*evidence.entries[:-1], ended), oom_printed=True)
    near = [text for text, at in killed.items() if abs(at - written_at) < _SAME_END_S and _of_python(text)]
    if not near or pid is not None:
        return evidence
    known = (Fact("kernel.killed-near", {"line": near[-1]}, KERNEL_LOG), *evidence.missing)
    return replace(evidence, oom_printed=evidence.exit_signal == "SIGKILL", missing=known)


def _of_python(line: str) -> bool:
    return re.search(r"\(python[\d.]*\)|\(pt_\w+\)", line) is not None
