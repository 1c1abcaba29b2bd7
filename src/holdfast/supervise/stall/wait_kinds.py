"""Kinds of waits, by who or what can end them. `thread_waits` reads them, `judgement` judges by them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Wait(StrEnum):
    """Of a thread, or of a tree."""

    UNKNOWN = "unknown"  # it runs, waits for a disk or a device, or could not be read
    OPEN_ENDED = "open-ended"  # for a lock, a child, a pipe, a signal
    TIMED = "timed"
    SLEEP = "sleep"
    CLIENT = "client"  # for somebody to connect
    REMOTE = "remote"  # for the other end of a connection
    PERSON = "person"  # at a terminal, or at the command's own input


@dataclass(frozen=True, slots=True)
class TreeWait:
    """Of a process and all that it started."""

    wait: Wait = Wait.UNKNOWN
    time_limit_s: float | None = None  # of a sleep or a timed wait, where it could be read
    blocked_for_s: float | None = None  # none of the waiting threads has run for so long
    waits_on: str = ""  # the system call of the process that the others wait for


NOT_READ = TreeWait()
