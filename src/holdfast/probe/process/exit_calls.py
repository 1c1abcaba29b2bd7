"""How a script ends itself without a traceback, by `sys.exit`, `os._exit` or `os.kill`: from which line, with
what.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from ...journal.events import ExitCalled, SelfSignalled, WorkerExitCalled
from ..runtime import fault_dumps, hidden_thread, user_lines
from ..runtime.context import ProbeContext
from ..runtime.wrapping import observe

PART = "exit_calls"


def watch(context: ProbeContext) -> None:
    _watch_exit(context, sys, "exit")
    _watch_exit(context, os, "_exit")
    _watch_kill(context, os)


def _watch_kill(context: ProbeContext, module: Any) -> None:
    """Signals that the script sends to itself. Those to its children are its own business."""

    def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if len(args) == 2 and args[0] in (os.getpid(), 0) and not context.forked and context.role == "main":
            _record_signal(context, args[1])

    observe(context, module, "kill", PART, before=before)


def _record_signal(context: ProbeContext, given: Any) -> None:
    number = int(given)
    if number:
        names = {known.value: known.name for known in signal.Signals}
        name = names.get(number, f"signal {number}")
        context.record(SelfSignalled(signal=name, where=user_lines.caller_line()))


def _watch_exit(context: ProbeContext, module: Any, name: str) -> None:
    def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = args[0] if args else kwargs.get("status")
        ours = not context.forked and context.role == "main"
        if ours and (name == "_exit" or hidden_thread.in_main()):
            handled = sys.exc_info()[1]
            if given and isinstance(handled, Exception) and user_lines.is_user_file(_calling_file()):
                context.guard(PART, context.exceptions.ended_in_exit, handled)
            _record_exit(context, f"{module.__name__}.{name}", given)
        elif name == "_exit" and user_lines.is_user_file(_calling_file()):
            _record_worker_exit(context, given)  # multiprocessing calls it too, at its end
        if name == "_exit":
            context.guard(fault_dumps.PART, context.fault_dumps.close_at_exit)

    observe(context, module, name, PART, before=before)


def _calling_file() -> str:
    """Of the code that called the observed function: the frames of the probe are in between."""
    frame = sys._getframe(1)
    while frame.f_back is not None and user_lines.is_probe(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code.co_filename


def _record_worker_exit(context: ProbeContext, code: Any) -> None:
    context.record(WorkerExitCalled(worker_pid=os.getpid(), code=code or 0, where=user_lines.caller_line()))


def _record_exit(context: ProbeContext, by: str, given: Any) -> None:
    plain = given is None or isinstance(given, int)
    context.record(
        ExitCalled(
            by=by,
            code=int(given or 0) if plain else 1,
            message="" if plain else str(given)[:500],
            where=user_lines.caller_line(),
            phase=context.heartbeat.phase.label,
        )
    )
