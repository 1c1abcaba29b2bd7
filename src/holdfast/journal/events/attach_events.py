"""A process that `holdfast attach` watches, as it was when attached to."""

from __future__ import annotations

from .event import Event, Json, field


class ProcessObserved(Event):
    """What the process did in the first seconds of watching it."""

    watched_s: float = 0.0
    uptime_s: float = 0.0
    frameworks: list[str] = field(default_factory=list)  # whose libraries it has loaded
    doing: str = ""  # by its stacks, for a person: "waiting for the next batch"
    phase: str = ""  # the same as a phase of the journal; "" where the stacks do not say
    where: str = ""  # the frame that says so
    moves: bool = True  # some CPU time, bytes, memory or frames changed
    idle_s: float | None = None  # how long nothing of it has run; None: it runs
    cpu_share: float = 0.0  # cores, all processes together
    read_bytes: int = 0  # while watched, all processes together
    written_bytes: int = 0
    rss_bytes: int = 0  # all processes together, at the end
    rss_grown_bytes: int = 0  # while watched
    # {"pid", "thread", "name", "main", "where", "code", "state", "waits", "endless", "cpu_share", "idle_s"}
    threads: list[Json] = field(default_factory=list)  # those that matter, the main one first
    # {"pid", "command", "state", "rss_bytes", "cpu_share", "where", "waits"}
    children: list[Json] = field(default_factory=list)
    # {"name", "used_bytes", "total_bytes", "utilisation", "ours_bytes", "ours_utilisation"}
    gpus: list[Json] = field(default_factory=list)
    open_files: int | None = None
    files: list[str] = field(default_factory=list)  # open files that are not libraries, pipes or sockets
    # {"stream", "to", "silent_s"}: where it prints to, and when that was last written
    output: list[Json] = field(default_factory=list)
    unreadable: str = ""  # why there are no stacks
    refusal: str = ""  # what forbids ptrace: other-user | yama | yama-nobody | not-dumpable | container
