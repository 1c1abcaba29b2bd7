"""A run and its attempts, as the supervisor writes them."""

from __future__ import annotations

from ...typing_names import Literal
from .event import Event, Json, field

#: Raised when a reader of this version could misread what a newer writer wrote.
FORMAT_VERSION = 1

WatchMode = Literal[
    "run",  # the command is a child of the supervisor
    "train",  # so is Holdfast's own trainer
    "beside",  # `holdfast.watch` in a process that the supervisor did not start
    "attached",  # `holdfast attach` to a process that ran already, without a probe in it
]
StoppedBy = Literal["", "stall", "interrupt", "terminate", "hangup"]


class RunOpened(Event):
    """The first event of every journal."""

    version: int = FORMAT_VERSION
    holdfast: str = ""
    name: str = ""
    command: list[str] = field(default_factory=list)
    cwd: str = ""
    watch: WatchMode = "run"
    host: str = ""
    boot_id: str = ""
    system: str = ""  # kernel and release
    cpus: int = 0  # that this process may use
    memory_bytes: int = 0  # of the machine
    stall_after_s: float | None = None  # as configured
    on_stall: str = "report"
    restarts: int = 0


class MachineRead(Event):
    """Limits before an attempt started. None is "no limit", a missing key "unknown"."""

    cgroup: int | None = None  # 1 or 2
    memory_limit_bytes: int | None = None
    memory_used_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    oom_kills: int | None = None  # the kernel's counter for our group
    pids_limit: int | None = None
    pids_refused: int | None = None  # how often the pids limit was hit so far
    # "as", "data", "nofile", "nproc", "stack", "fsize"
    rlimits: dict[str, int | None] = field(default_factory=dict)
    # {"what": "run"|"tmp"|"shm"|"cwd", "path", "free_bytes", "total_bytes"}
    disks: list[Json] = field(default_factory=list)
    # {"name", "total_bytes", "used_bytes", "processes": [{"pid", "name", "bytes"}]}
    gpus: list[Json] = field(default_factory=list)


class AttemptStarted(Event):
    command: list[str] = field(default_factory=list)
    pid: int = 0
    terminal: bool = False  # the child has a terminal of its own


class ScriptRead(Event):
    """The script as it was when an attempt started."""

    script: str = ""
    digest: str = ""  # checksum and length
    kept: str = ""  # its copy under source/; "" where it is too large, or the disk refused it
    file: str = ""  # of a cell: the temporary file that stacks and tracebacks name
    beside: dict[str, str] = field(default_factory=dict)  # other modules of its folder and their digests


class AttemptEnded(Event):
    exit_code: int | None = None  # None when a signal ended it
    signal: str | None = None  # "SIGKILL"
    core_dumped: bool = False
    duration_s: float = 0.0
    step: int | None = None  # of the last heartbeat; None where there was none
    max_rss_bytes: int | None = None
    user_s: float | None = None
    system_s: float | None = None
    major_faults: int | None = None
    oom_kills_before: int | None = None
    oom_kills_after: int | None = None
    pids_refused_before: int | None = None
    pids_refused_after: int | None = None
    kernel_log: list[str] = field(default_factory=list)  # lines that name the child or its group
    stopped_by_us: StoppedBy = ""  # why the supervisor ended it, if it did
    left_running: list[Json] = field(default_factory=list)  # descendants that outlived it


class Restarted(Event):
    why: str = ""
    pause_s: float = 0.0


class RestartRefused(Event):
    why: str = ""


class WatchFailed(Event):
    """A part of the monitoring failed; the command keeps running."""

    part: str = ""
    error: str = ""


class RunClosed(Event):
    outcome: str = ""
    exit_code: int = 0


class WatchLimited(Event):
    """What the supervisor cannot know of a process that it did not start itself."""

    unknown: list[str] = field(default_factory=list)


class SupervisorLost(Event):
    """Written by the output relay: the command closed its output after the supervisor had gone. How it ended is
    unknown."""

    output_bytes: int = 0


class Note(Event):
    """A sentence for a person. No code reads it."""

    text: str = ""
