"""How a script ends itself without a traceback, by `sys.exit`, `os._exit` or `os.kill`: from which line, with
what.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from typing import Any

from ...journal.events import ExitCalled, SelfSignalled, WorkerExitCalled
from ..runtime import fault_dumps, hidden_thread, user_lines
from ..runtime.context import ProbeContext

PART = "exit"


def watch(session: ProbeContext) -> None:
    _watch(session, sys, "exit")
    _watch(session, os, "_exit")
    _watch_kill(session, os)


def _watch_kill(session: ProbeContext, module: Any) -> None:
    """Signals that the script sends to itself. Those to its children are its own business."""
    original = module.kill

    @functools.wraps(original)
    def told(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 2 and args[0] in (os.getpid(), 0) and not session.forked and session.role == "main":
            session.guard(PART, _say_signal, session, args[1])
        return original(*args, **kwargs)

    told.__module__ = module.__name__  # where it can be found under its name, as pickle wants it
    module.kill = told


def _say_signal(session: ProbeContext, given: Any) -> None:
    number = int(given)
    if number:
        known = {one.value: one.name for one in signal.Signals}
        name = known.get(number, f"signal {number}")
        session.say(SelfSignalled(signal=name, where=user_lines.caller_line()))


def _watch(session: ProbeContext, module: Any, name: str) -> None:
    original = getattr(module, name)

    @functools.wraps(original)
    def told(*args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else kwargs.get("status")
        ours = not session.forked and session.role == "main"
        if ours and (name == "_exit" or hidden_thread.in_main()):
            session.guard(PART, _say, session, f"{module.__name__}.{name}", given)
        elif name == "_exit" and user_lines.is_user_file(sys._getframe(1).f_code.co_filename):
            session.guard(PART, _say_worker, session, given)  # multiprocessing calls it too, at its end
        if name == "_exit":
            session.guard(fault_dumps.PART, session.stacks.leave)
        return original(*args, **kwargs)

    told.__module__ = module.__name__
    setattr(module, name, told)


def _say_worker(session: ProbeContext, code: Any) -> None:
    session.say(WorkerExitCalled(worker_pid=os.getpid(), code=code or 0, where=user_lines.caller_line()))


def _say(session: ProbeContext, by: str, given: Any) -> None:
    plain = given is None or isinstance(given, int)
    session.say(
        ExitCalled(
            by=by,
            code=int(given or 0) if plain else 1,
            message="" if plain else str(given)[:500],
            where=user_lines.caller_line(),
            phase=session.progress.phase.label,
        )
    )
