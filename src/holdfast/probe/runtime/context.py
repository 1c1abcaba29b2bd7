"""One process's records: the journal, the ring of beats, and the list of parts of the probe that are off."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ...journal.beats import BeatReader, BeatWriter, Phase
from ...journal.events import Event, ExitStarted, ProbeFailed, ProcessJoined
from ...journal.folder import RunFolder
from ...journal.writer import JournalWriter
from . import fault_dumps
from .heartbeat import Heartbeat

Result = TypeVar("Result")

#: Names a part that shall fail, for the tests of what happens then.
FAULT_VARIABLE = "HOLDFAST_PROBE_FAULT"

#: A ring whose owner is in one of these phases may be taken over by another process that trains.
_IDLE = frozenset({Phase.START, Phase.IMPORT, Phase.BUILD, Phase.AFTER, Phase.EXIT})


class ProbeContext:
    def __init__(self, run_dir: str, *, attempt: int, role: str) -> None:
        self.folder = RunFolder(Path(run_dir))
        self.folder.path.mkdir(parents=True, exist_ok=True)
        self.attempt = attempt
        self.role = role
        self.forked = False
        self.hooked: set[str] = set()  # modules of the process that the probe hangs on
        self.started = time.monotonic()
        self.progress = Heartbeat()
        self.seen: dict[str, Any] = {}  # what a part has said already, by part: each part has its own keys
        self.last_exception: BaseException | None = None
        self._journal = JournalWriter(self.folder.journal, by="probe", attempt=attempt)
        self._ring: BeatWriter | None = None
        self.off: set[str] = set()  # parts that have failed
        self._fault = os.environ.get(FAULT_VARIABLE, "")
        self.stacks = fault_dumps.FaultDumps()
        self.closed = False
        self._exiting = False
        self.at_exit: list[Callable[[], None]] = []

    # -- coming and going ---------------------------------------------------------------------------

    def join(self) -> None:
        if self.role == "child" and not self.folder.beats.exists():
            self.role = "main"  # the Python above only launched this one
        self._say_joined()
        if self.role == "main":
            self.take_ring()
        self.guard(fault_dumps.PART, self.stacks.open, self.folder)
        self.guard(fault_dumps.PART, fault_dumps.watch, self.stacks)
        self.guard("exit", self._watch_exit)
        os.register_at_fork(after_in_child=self._after_fork, after_in_parent=self._after_fork_above)
        from ..process import exceptions, exit_calls, framework_warnings, signal_handlers

        self.guard(signal_handlers.PART, signal_handlers.watch, self)
        self.guard(exit_calls.PART, exit_calls.watch, self)
        self.guard("notices", framework_warnings.watch, self)
        self.guard("threads", exceptions.watch_threads, self)

    def _say_joined(self) -> None:
        self.say(
            ProcessJoined(
                python=sys.version.split()[0],
                executable=sys.executable,
                argv=list(getattr(sys, "argv", []))[:40],
                script=_script(),
                role="main" if self.role == "main" else "worker",
            )
        )

    def reopen(self, run_dir: str, *, attempt: int) -> None:
        """Another run in the same process, as in a notebook: the hooks stay, what was said is said anew."""
        self.folder = RunFolder(Path(run_dir))
        self.folder.path.mkdir(parents=True, exist_ok=True)
        self.attempt = attempt
        self.started = time.monotonic()
        self._journal = JournalWriter(self.folder.journal, by="probe", attempt=attempt)
        self._ring = None
        self.closed = False
        self.progress.forget()
        for key in [key for key in self.seen if key.endswith("_said")]:
            del self.seen[key]
        self._say_joined()
        self.take_ring()
        self.progress.enter(Phase.BUILD)
        self.guard(fault_dumps.PART, self.stacks.open, self.folder)

    def close(self) -> None:
        if "fits" in self.seen:
            self.guard("fits", self.seen["fits"].forget)
        self.closed = True
        self.progress.ring = None

    def take_ring(self) -> bool:
        """Beats go to the ring from now on, unless another process that lives is training into it."""
        newest = BeatReader(self.folder.beats).newest()
        if newest is not None and newest.pid != os.getpid() and newest.attempt == self.attempt:
            if newest.phase not in _IDLE and fault_dumps.alive(newest.pid):
                self.progress.ring = None
                return False
            self._ring = None
        if self._ring is None:
            try:
                self._ring = BeatWriter(self.folder.beats, attempt=self.attempt)
            except OSError as error:  # a full disk, a limit on the size of files: the journal goes on without
                self.failed("beats", error)
                return False
        self.progress.ring = self._ring
        return True

    def keep_ring(self) -> None:
        """Before beats of a process that is not training: another one may have taken the ring meanwhile."""
        if self._ring is not None:
            self.take_ring()

    def _trained_elsewhere(self) -> bool:
        """A process below this one has trained, and this one has not: its last beat is worth more than our exit."""
        newest = BeatReader(self.folder.beats).newest()
        elsewhere = newest is not None and newest.pid != os.getpid() and newest.step > 0
        if elsewhere and not self.progress.step:
            self.progress.ring = None
            return True
        return False

    # -- the journal and the guard ------------------------------------------------------------------

    def say(self, event: Event) -> None:
        """Writes an event; a disk that does not take it is no reason to disturb the training."""
        if self.closed:
            return
        with contextlib.suppress(OSError):
            self._journal.append(event)

    def on(self, part: str) -> bool:
        return part not in self.off and not self.closed

    def failed(self, part: str, error: BaseException) -> None:
        """Switches a part off for good, and says so once."""
        if part in self.off:
            return
        self.off.add(part)
        frame = _innermost(error)
        self.say(ProbeFailed(part=part, error=f"{type(error).__name__}: {error} ({frame})"[:500]))

    def made_to_fail(self, part: str) -> bool:
        return part == self._fault

    def guard(self, part: str, action: Callable[..., Result], *args: Any) -> Result | None:
        """Runs a part of the probe so that nothing it does can reach the training."""
        if part in self.off or self.closed:
            return None
        try:
            if self._fault and self.made_to_fail(part):
                raise RuntimeError("made to fail by a test")
            return action(*args)
        except Exception as error:
            self.failed(part, error)
            return None

    # -- exit, fork, stacks -------------------------------------------------------------------------

    def _watch_exit(self) -> None:
        """The interpreter's shutdown starts with threading._shutdown, before any thread is waited for."""
        shutdown = threading._shutdown  # type: ignore[attr-defined]

        def shutdown_told() -> Any:
            if not self.forked and not self._exiting:  # multiprocessing calls it, then the interpreter again
                self._exiting = True
                self.guard("exit", self._exit_started)
            return shutdown()

        threading._shutdown = shutdown_told  # type: ignore[attr-defined]

    def _exit_started(self) -> None:
        from ..process import exceptions

        last = getattr(sys, "last_value", None)
        if last is not None and last is not self.last_exception:  # somebody else's excepthook was in place
            exceptions.script_raised(self, last)
        if self._ring is not None and not self._trained_elsewhere():
            self.take_ring()
        raised = type(last).__name__ if last is not None else ""
        self.progress.enter(Phase.EXIT)
        self.say(ExitStarted(raised=raised, steps=self.progress.step))
        for action in reversed(self.at_exit):
            self.guard("exit", action)
        self.stacks.leave()
        self.stacks.tidy()

    def _after_fork(self) -> None:
        """A forked child is a loader until it trains: it keeps the journal, but not its parent's ring."""
        self.forked = True
        self.role = "worker"
        self._ring = None
        self.progress.forget()
        self.at_exit.clear()
        if not fault_dumps.execs(sys._getframe(1)):
            self.guard(fault_dumps.PART, self.stacks.open, self.folder)

    def _after_fork_above(self) -> None:
        self.guard(fault_dumps.PART, self.stacks.forked)


def _script() -> str:
    main = sys.modules.get("__main__")
    found = getattr(main, "__file__", None)
    if found:
        return str(found)
    argv = getattr(sys, "argv", None) or [""]
    return str(argv[0])


def _innermost(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "no traceback"
    return f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
