"""All Python stacks, written by faulthandler: at SIGUSR2, when the supervisor asks for them, and at a crash.

The file of a process is there while it lives, and afterwards if something was written to it. A script that uses
SIGUSR2 itself keeps it: a mark beside the file then says that the process must not be asked.
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

PART = "stacks"
_SIGNAL = signal.SIGUSR2
_TIDY_EVERY = 32  # forks
_register, _unregister = faulthandler.register, faulthandler.unregister
_enable, _disable = faulthandler.enable, faulthandler.disable


class FaultDumps:
    def __init__(self) -> None:
        self._folder: RunFolder | None = None
        self._file: OwnDescriptor | None = None
        self._answers = False  # SIGUSR2 is ours
        self._handler = 0  # where faulthandler's code for it lies
        self._scripts_own = False  # or the script's, for good
        self._tells_crashes: bool | None = None  # not known before the first file
        self._forks = 0

    def open(self, folder: RunFolder) -> None:
        """Answers from now on, in this process: a run has begun, or the process was forked."""
        before = self._file
        folder.stacks.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._file = OwnDescriptor(folder.fault_file(os.getpid()), os.O_WRONLY | os.O_APPEND)
        self._scripts_own = self._scripts_own or (not self._answers and _used())
        if self._scripts_own:
            self._mark_unasked()
        if self._tells_crashes is None:
            self._tells_crashes = not faulthandler.is_enabled()  # the script's own comes first
        self._hand_over()
        if before is not None:
            before.close()

    def give_up_signal(self) -> None:
        """The script is about to use SIGUSR2 itself."""
        self._scripts_own, self._answers = True, False
        self._mark_unasked()

    def give_up_crashes(self) -> None:
        """The script has a place of its own for what faulthandler writes at a crash."""
        self._tells_crashes = False

    def mind(self) -> None:
        """Once a second: has a library taken the signal past us? Has the script closed the file, and perhaps opened one
        of its own under the number?"""
        if self._answers and _handler() != self._handler:
            self.give_up_signal()
        if self._file is None or not self._file.lost:
            return
        try:
            self._file.stat()
            self._hand_over()
        except OSError:
            self._stop()

    def leave(self) -> None:
        """The process ends. Its file is still open: a late signal writes into nothing."""
        if self._folder is not None:
            for path in (self._folder.fault_file(os.getpid()), self._folder.unasked_file(os.getpid())):
                _drop_empty(path)

    def tidy(self) -> None:
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
        if self._forks % _TIDY_EVERY == 0:
            self.tidy()

    def _hand_over(self) -> None:
        if self._file is None:
            return
        if not self._scripts_own:
            self._answers = True
            _register(_SIGNAL, file=self._file.number, all_threads=True)
            self._handler = self._handler or _handler()
        if self._tells_crashes:
            _enable(file=self._file.number, all_threads=True)

    def _stop(self) -> None:
        """The file is gone, and its number is somebody else's."""
        if self._answers:
            self._answers = False
            _unregister(_SIGNAL)
        if self._tells_crashes:
            self._tells_crashes = False
            _disable()
        self._file = None

    def _mark_unasked(self) -> None:
        """Without room for the mark the file itself goes."""
        if self._folder is None:
            return
        try:
            self._folder.unasked_file(os.getpid()).touch()
        except OSError:
            with contextlib.suppress(OSError):
                self._folder.fault_file(os.getpid()).unlink()


def watch(stacks: FaultDumps) -> None:
    """The script's own calls of faulthandler: what it registers or enables takes the place of ours."""
    for name in ("register", "unregister", "enable", "disable"):
        setattr(faulthandler, name, _telling(stacks, getattr(faulthandler, name), name))


def _telling(stacks: FaultDumps, original: Callable[..., Any], name: str) -> Any:
    @functools.wraps(original)
    def told(*args: Any, **kwargs: Any) -> Any:
        if name in ("enable", "disable"):
            stacks.give_up_crashes()
        elif (args[0] if args else kwargs.get("signum")) == _SIGNAL:
            stacks.give_up_signal()
        return original(*args, **kwargs)

    return told


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
