"""All Python stacks, written by faulthandler: at SIGUSR2, when the supervisor requests them, and at a crash.

The file of a process exists while it lives, and afterwards if something was written to it. A script that uses
SIGUSR2 itself keeps it: a second, empty file is then the sign for the supervisor not to send it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from ...journal.descriptor import OwnDescriptor
from ...journal.folder import RunFolder

PART = "fault_dumps"
_SIGNAL = signal.SIGUSR2
_REMOVE_EVERY = 32  # forks
_register, _unregister = faulthandler.register, faulthandler.unregister
_enable, _disable = faulthandler.enable, faulthandler.disable


class FaultDumps:
    def __init__(self) -> None:
        self._folder: RunFolder | None = None
        self._file: OwnDescriptor | None = None
        self._answers = False  # SIGUSR2 is ours
        self._handler = 0  # where faulthandler's code for it lies
        self._scripts_own = False  # or the script's, until the process ends
        self._handles_crashes: bool | None = None  # not known before the first file
        self._forks = 0

    def open(self, folder: RunFolder) -> None:
        """Answers from now on, in this process: a run has begun, or the process was forked."""
        before = self._file
        folder.stacks.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._file = OwnDescriptor(folder.fault_file(os.getpid()), os.O_WRONLY | os.O_APPEND)
        self._scripts_own = self._scripts_own or (not self._answers and _used())
        if self._scripts_own:
            self._mark_signal_taken()
        if self._handles_crashes is None:
            self._handles_crashes = not faulthandler.is_enabled()  # the script's own comes first
        self._restore_handler()
        if before is not None:
            before.close()

    def give_up_signal(self) -> None:
        """The script is about to use SIGUSR2 itself."""
        self._scripts_own, self._answers = True, False
        self._mark_signal_taken()

    def give_up_crashes(self) -> None:
        """The script has a place of its own for what faulthandler writes at a crash."""
        self._handles_crashes = False

    def check_handlers(self) -> None:
        """Once a second: has a library taken the signal past us? Has the script closed the file, and perhaps opened one
        of its own under the number?"""
        if self._answers and _handler() != self._handler:
            self.give_up_signal()
        if self._file is None or not self._file.lost:
            return
        try:
            self._file.stat()
            self._restore_handler()
        except OSError:
            self._stop()

    def close_at_exit(self) -> None:
        """The process ends. Its file is still open: a late signal writes into nothing."""
        if self._folder is not None:
            for path in (self._folder.fault_file(os.getpid()), self._folder.unasked_file(os.getpid())):
                _drop_empty(path)

    def remove_empty(self) -> None:
        """Takes away the files that nothing was written to, of children that are gone."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):  # no files left to open, or no right to remove them: they stay
            for path in list(self._folder.stacks.glob("faulthandler-*")):
                if not alive(int(path.stem.rpartition("-")[2])):
                    _drop_empty(path)

    def forked(self) -> None:
        """In the parent. Children that were killed have left their files."""
        self._forks += 1
        if self._forks % _REMOVE_EVERY == 0:
            self.remove_empty()

    def _restore_handler(self) -> None:
        if self._file is None:
            return
        if not self._scripts_own:
            self._answers = True
            _register(_SIGNAL, file=self._file.number, all_threads=True)
            self._handler = self._handler or _handler()
        if self._handles_crashes:
            _enable(file=self._file.number, all_threads=True)

    def _stop(self) -> None:
        """The file is gone, and its number is somebody else's."""
        if self._answers:
            self._answers = False
            _unregister(_SIGNAL)
        if self._handles_crashes:
            self._handles_crashes = False
            _disable()
        self._file = None

    def _mark_signal_taken(self) -> None:
        """Without room for the mark the file itself goes."""
        if self._folder is None:
            return
        try:
            self._folder.unasked_file(os.getpid()).touch()
        except OSError:
            with contextlib.suppress(OSError):
                self._folder.fault_file(os.getpid()).unlink()


def watch(dumps: FaultDumps) -> None:
    """The script's own calls of faulthandler: what it registers or enables takes the place of ours."""
    for name in ("register", "unregister", "enable", "disable"):
        setattr(faulthandler, name, _giving_way(dumps, getattr(faulthandler, name), name))


def _giving_way(dumps: FaultDumps, original: Callable[..., Any], name: str) -> Any:
    """Not an observer of `wrapping`: it gives way also while the context is closed, between two runs."""

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if name in ("enable", "disable"):
            dumps.give_up_crashes()
        elif (args[0] if args else kwargs.get("signum")) == _SIGNAL:
            dumps.give_up_signal()
        return original(*args, **kwargs)

    return wrapped


def execs(frame: FrameType | None) -> bool:
    """Whether a child was forked only to become another program: `subprocess` with a `preexec_fn`."""
    if frame is None:
        return False
    return (frame.f_globals.get("__name__"), frame.f_code.co_name) == ("subprocess", "_execute_child")


def _handler() -> int:
    """The address of what the kernel calls at the signal; 0 where it cannot be known."""
    try:
        import ctypes

        action = (ctypes.c_size_t * 64)()  # on Linux the first word is the handler
        return int(action[0]) if ctypes.pythonapi.sigaction(int(_SIGNAL), None, action) == 0 else 0
    except (ImportError, OSError, AttributeError):
        return 0


def _used() -> bool:
    """By a handler of Python's, or by one that Python knows nothing of."""
    if signal.getsignal(_SIGNAL) not in (signal.SIG_DFL, None):
        return True
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/status", "rb") as file:
        caught = next(line for line in file if line.startswith(b"SigCgt:"))
        return bool(int(caught.split()[1], 16) >> (_SIGNAL - 1) & 1)
    return False


def _drop_empty(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
