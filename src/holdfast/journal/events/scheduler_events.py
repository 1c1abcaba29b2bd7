"""What a scheduler says of the job that a run belongs to."""

from __future__ import annotations

from ...typing_names import Literal
from .event import Event, field

AskedBecause = Literal[
    "time-limit", "preempted", "node-failed", "requeued", "cancelled", "evicted", "out-of-memory", "signalled"
]


class JobStarted(Event):
    """The run began, or continued, as a job of a scheduler."""

    scheduler: str = ""  # slurm | kubernetes
    job: str = ""
    nodes: str = ""  # as the scheduler writes them: node[0-3]
    restarts: int = 0  # how often the scheduler has started the job again
    ends_at: float | None = None  # its time limit, in seconds since 1970


class SchedulerAnswered(Event):
    """Why the scheduler ends the job: asked when SIGTERM came, or when the job was started again."""

    scheduler: str = ""
    job: str = ""
    why: AskedBecause | Literal[""] = ""
    state: str = ""  # of the job, in the scheduler's word
    ends_at: float | None = None
    failed_nodes: dict[str, str] = field(default_factory=dict)  # node -> its state and the reason
    later: bool = False  # asked when the job was started again
