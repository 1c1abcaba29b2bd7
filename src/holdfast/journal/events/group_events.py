"""A group of processes that train together, as its coordinator sees it (`holdfast launch`)."""

from __future__ import annotations

from ...typing_names import Literal
from .event import Event, Json, field

RemarkKind = Literal[
    "missing", "silent", "suspended", "waited-for", "network", "straggler", "exchange", "slow-link", "apart"
]


class GroupAssembled(Event):
    """All agents of the group are connected."""

    count: int = 0
    ranks_by_host: dict[str, list[int]] = field(default_factory=dict)


class PeerRejected(Event):
    """Somebody who connected to the coordinator was turned away."""

    address: str = ""
    why: str = ""


class AgentsMissing(Event):
    """The group did not start: some agents never connected."""

    ranks: list[int] = field(default_factory=list)
    waited_s: float = 0.0


class GroupRemark(Event):
    """Something is wrong with the group right now."""

    remark: RemarkKind | Literal[""] = ""
    ranks: list[int] = field(default_factory=list)  # whom it is about
    text: str = ""  # for a person
    rank_steps: dict[str, int] = field(default_factory=dict)  # of "apart": the step of each rank
    lost_s: float | None = None  # of "straggler": what all lose in a step
    busy_with: str = ""  # of "straggler": "waiting for data" | "computing"
    exchange_s: float | None = None  # of "exchange": in a step
    round_trip_s: float | None = None  # of "slow-link": a message there and back


class AgentLost(Event):
    """The end of one agent ended the attempt of the whole group."""

    rank: int = 0
    host: str = ""
    exit_code: int | None = None
    signal: str | None = None
    verdict: Json = field(default_factory=dict)  # of that agent's own run folder
    text: str = ""  # for a person


class AgentStacksCaptured(Event):
    """Where an agent's main thread was before the group was ended."""

    rank: int = 0
    main: list[str] = field(default_factory=list)  # frames, innermost first
    file: str = ""  # under stacks/ of that agent's run folder


class AgentDropped(Event):
    """The coordinator gave up an agent."""

    rank: int = 0
    why: str = ""


class GroupStopRequested(Event):
    """After a signal all agents save and end."""

    signal: str = ""
    rank: int | None = None  # on whose host it came; None: to the coordinator
    from_pid: int | None = None  # who sent it to the coordinator, where that is known
    from_command: str = ""
    text: str = ""  # for a person


class GroupRestarted(Event):
    """All agents are started again together."""

    pause_s: float = 0.0


class GroupNotRestarted(Event):
    why: str = ""
