"""What the supervisor sees of the running command from outside."""

from __future__ import annotations

from .event import Event, Json, field


class Stalled(Event):
    """The command is stalled. `progress` has each sign of activity and when it was last seen."""

    phase: str = ""
    callback: str = ""
    step: int | None = None
    epoch: int | None = None
    silent_for_s: float = 0.0
    limit_s: float = 0.0
    limit_from: str = ""  # how the limit was chosen, for a person
    # {"beat_s", "output_s", "read_s", "cpu_s", ...}: seconds since each was last seen
    progress: Json = field(default_factory=dict)
    stacks: list[str] = field(default_factory=list)  # files under stacks/


class StallEnded(Event):
    """It moved again by itself."""

    silent_for_s: float = 0.0


class ProgressPrinted(Event):
    """How far a command without heartbeats had come, as it printed it: at first, every minute, and at its end."""

    step: int | None = None
    of: int | None = None
    epoch: float | None = None  # counted as the command counts, from 0 or from 1
    of_epochs: int | None = None
    loss: float | None = None
    metrics: Json = field(default_factory=dict)
    part: str = ""  # training | validation
    text: str = ""  # the line


class EndlessSeen(Event):
    """A validation, an epoch or a loop that may never end, although its counters move."""

    what: str = ""  # validation | epoch | loop
    batches: int = 0  # done in it so far
    for_s: float = 0.0
    planned: int | None = None
    why: str = ""  # against what it was measured, for a person
    sure: bool = False  # the plan itself has no end; else it is only far longer than every one before


class StacksCaptured(Event):
    reason: str = ""  # stall | before-kill | group
    file: str = ""  # under stacks/


class SignalReceived(Event):
    """The supervisor received a signal and forwarded it."""

    signal: str = ""  # "SIGTERM"
    from_pid: int | None = None
    from_command: str = ""


class SignalSent(Event):
    signal: str = ""
    to_pid: int = 0
    why: str = ""


class ChildStateChanged(Event):
    """The main process was stopped (T) or continued."""

    state: str = ""
    was: str = ""


class WorkerGone(Event):
    """A descendant ended while the main process runs. How it ended can rarely be seen from outside."""

    worker_pid: int = 0
    name: str = ""
    command: str = ""
    rss_bytes: int | None = None  # when last seen
    lived_s: float = 0.0
    oom_kills_rose: bool = False
    last_state: str = ""


class MappedFileSeen(Event):
    """A file that the training had mapped into its memory, looked at when SIGBUS had ended it."""

    path: str = ""
    mapped_bytes: int = 0
    size_bytes: int | None = None  # None: it has been removed
    stored_bytes: int | None = (
        None  # of the file system's space; less than its size where pages were never written
    )
    free_bytes: int | None = None  # of the file system


class OomKillSeen(Event):
    """The kernel's kill counter of our group rose."""

    oom_kills: int = 0
    was: int = 0
    kernel_log: list[str] = field(default_factory=list)
    victim_pid: int | None = None
