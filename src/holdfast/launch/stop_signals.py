"""Signals that ask a group to end, and which process sent them.

A handler does not learn the sender. So the signals are blocked, and what came is looked up at every turn of the
coordinator. The handler is for a process with threads that do not block them, as Ray's: no sender is known then.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from holdfast.host import procfs

STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_MAX_COMMAND = 200

#: Gets the signal's name, the pid of the sender (None where it is not known) and its command line.
Asked = Callable[[str, int | None, str], None]


@contextmanager
def watching(asked: Asked) -> Iterator[Callable[[], None]]:
    """Yields the function that looks whether a signal has come. A signal that was ignored when this process was
    started stays so: SIGHUP under nohup, SIGINT of a job that a shell starts with `&`."""
    watched = {number for number in STOP_SIGNALS if signal.getsignal(number) != signal.SIG_IGN}

    def take_pending() -> None:
        while (info := signal.sigtimedwait(watched, 0)) is not None:
            sender = info.si_pid or None  # none of a key that was pressed
            command = procfs.command_line(sender)[:_MAX_COMMAND] if sender else ""
            asked(signal.Signals(info.si_signo).name, sender, command)

    for number in watched:
        signal.signal(number, lambda taken, _frame: asked(signal.Signals(taken).name, None, ""))
    mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        yield take_pending
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask_before)


def import_numpy() -> None:
    """Before `watching`: the threads that OpenBLAS starts at the import inherit what is blocked, and take no signal."""
    mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        with suppress(ImportError):
            import numpy  # noqa: F401
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask_before)


def unblock() -> None:
    """A started process inherits what its parent blocks."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
