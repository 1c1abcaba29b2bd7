"""Processes of `multiprocessing` that did not end by themselves, as their parent finds them.

A pool replaces such a worker within a tenth of a second and forgets its task; one that lived shorter than the pause
between two looks is seen by nobody else.
"""

from __future__ import annotations

import re
import signal
import time
from typing import Any

from ...journal.events import WorkerCrashed, WorkerGone
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.wrapping import observe

PART = "workerends"
_SAY_AT_MOST = 20
_FATAL = re.compile(r"Fatal Python error: (.+)")
_FRAME = re.compile(r'  File "(.*?)", line (\d+) in (.*)')


def hook_popen(session: ProbeContext, module: Any) -> None:
    """`Popen` of fork and spawn, and that of the fork server."""
    observe(
        session, module.Popen, "__init__", PART,
        before=lambda args, kwargs: args[0],
        after=lambda popen, _: setattr(popen, "_holdfast_began", time.monotonic()),
    )  # fmt: skip
    observe(
        session, module.Popen, "poll", PART,
        before=lambda args, kwargs: args[0],
        after=lambda popen, code: _polled(session, popen, code),
    )  # fmt: skip


def _polled(session: ProbeContext, popen: Any, code: int | None) -> None:
    """SIGTERM is how a pool ends its workers on purpose."""
    said = session.seen.setdefault("workers_ended", set())
    if not code or code == -signal.SIGTERM or popen.pid in said or len(said) >= _SAY_AT_MOST:
        return
    said.add(popen.pid)
    lived_s = time.monotonic() - getattr(popen, "_holdfast_began", time.monotonic())
    session.say(
        WorkerGone(
            worker_pid=popen.pid, name="a worker", lived_s=round(lived_s, 1), last_state=ended_on(code)
        )
    )
    _say_crash(session, popen.pid)


def ended_on(code: int) -> str:
    """An exit code as `multiprocessing` gives it: negative for a signal."""
    if code > 0:
        return f"exit code {code}"
    known = {one.value: one.name for one in signal.Signals}
    return known.get(-code, f"signal {-code}")


def _say_crash(session: ProbeContext, pid: int) -> None:
    """The worker's own fault handler has written where it stood."""
    path = session.folder.stacks / f"faulthandler-{pid}.txt"
    text = path.read_text(errors="replace") if path.exists() else ""
    what = _FATAL.findall(text)
    if not what:
        return
    stood = text.rpartition("Current thread ")[2].partition("\n\n")[0]
    own = next((frame for frame in _FRAME.findall(stood) if user_lines.is_user_file(frame[0])), None)
    where = f"{user_lines.short(own[0])}:{own[1]} in {own[2]}" if own is not None else ""
    session.say(WorkerCrashed(worker_pid=pid, what=what[-1], where=where))
