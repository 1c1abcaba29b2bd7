"""What the supervisor sees of the running process from outside."""

from __future__ import annotations

from .event import Event, Json, field


class Stalled(Event):
    """The child is not moving. `progress` holds what was looked at and when each last moved."""

    phase: str = ""
    callback: str = ""
    step: int | None = None
    epoch: int | None = None
    silent_for_s: float = 0.0
    limit_s: float = 0.0
    limit_from: str = ""  # how the limit was chosen, in words
    # {"beat_s", "output_s", "read_s", "cpu_s", ...}: seconds since each moved
    progress: Json = field(default_factory=dict)
    stacks: list[str] = field(default_factory=list)  # files under stacks/


class StallEnded(Event):
    """It moved again by itself."""

    silent_for_s: float = 0.0


class EndlessSeen(Event):
    """Counters move, but towards no end: a validation or an epoch that goes on and on."""

    what: str = ""  # validation | epoch
    batches: int = 0  # done in it so far
    for_s: float = 0.0
    planned: int | None = None
    why: str = ""  # against what it was measured, in words
    sure: bool = False  # the plan itself has no end; else only far beyond every one before


class StacksCaptured(Event):
    reason: str = ""  # stall | before-kill | asked
    file: str = ""  # under stacks/


class SignalReceived(Event):
    """The supervisor got a signal and passed it on."""

    signal: str = ""  # "SIGTERM"
    from_pid: int | None = None
    from_command: str = ""


class SignalSent(Event):
    signal: str = ""
    to_pid: int = 0
    why: str = ""


class ChildStateChanged(Event):
    """The main process was stopped (T) or went on; seen from outside."""

    state: str = ""
    was: str = ""


class WorkerGone(Event):
    """A descendant ended while the main process lives. How it ended is seldom to be known from outside."""

    worker_pid: int = 0
    name: str = ""
    command: str = ""
    rss_bytes: int | None = None  # when last seen
    lived_s: float = 0.0
    oom_kills_rose: bool = False
    last_state: str = ""


class OomKillSeen(Event):
    """The kernel's kill counter of our group rose."""

    oom_kills: int = 0
    was: int = 0
    kernel_log: list[str] = field(default_factory=list)
    victim_pid: int | None = None
