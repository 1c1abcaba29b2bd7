"""How a script ends itself without a traceback, by `sys.exit`, `os._exit` or `os.kill`: from which line, with what."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from typing import Any

from ..journal.events import NoteMade
from . import lines
from .session import Session

PART = "exit"


def watch(session: Session) -> None:
    _watch(session, sys, "exit")
    _watch(session, os, "_exit")
    _watch_kill(session, os)


def _watch_kill(session: Session, module: Any) -> None:
    """Signals that the script sends to itself. Those to its children are its own business."""
    original = module.kill

    @functools.wraps(original)
    def told(*args: Any) -> Any:
        if len(args) == 2 and args[0] in (os.getpid(), 0) and not session.forked and session.role == "main":
            session.guard(PART, _say_signal, session, int(args[1]))
        return original(*args)

    module.kill = told


def _say_signal(session: Session, number: int) -> None:
    if number:
        known = {one.value: one.name for one in signal.Signals}
        facts = {"signal": known.get(number, f"signal {number}"), "where": lines.caller_line()}
        session.say(NoteMade(text="os.kill was called on the process itself", facts={"signal_sent": facts}))


def _watch(session: Session, module: Any, name: str) -> None:
    original = getattr(module, name)

    @functools.wraps(original)
    def told(*args: Any) -> Any:
        ours = not session.forked and session.role == "main"
        if ours and (name == "_exit" or threading.current_thread() is threading.main_thread()):
            session.guard(PART, _say, session, f"{module.__name__}.{name}", args[0] if args else None)
        elif name == "_exit" and lines.is_user_file(sys._getframe(1).f_code.co_filename):
            session.guard(
                PART, _say_worker, session, args[0] if args else 0
            )  # multiprocessing calls it too, at its end
        return original(*args)

    setattr(module, name, told)


def _say_worker(session: Session, code: Any) -> None:
    facts = {"pid": os.getpid(), "code": code, "where": lines.caller_line()}
    session.say(NoteMade(text="os._exit was called in a worker", facts={"worker_exit": facts}))


def _say(session: Session, by: str, given: Any) -> None:
    plain = given is None or isinstance(given, int)
    facts = {
        "by": by,
        "code": int(given or 0) if plain else 1,
        "message": "" if plain else str(given)[:500],
        "where": lines.caller_line(),
        "phase": session.progress.phase.word,
    }
    session.say(NoteMade(text=f"{by} was called", facts={"exit_called": facts}))
