"""It waits for another machine that is not there."""

from holdfast.explain.causes.environment.process_ranks import even
from holdfast.explain.other_end import Awaited, OtherEnd, awaited
from holdfast.explain.readings.error import ErrorText
from holdfast.explain.readings.stacks import (
    StalledThread,
    plain_name,
    silence,
    stalled_thread,
    stalled_threads,
)
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts
from holdfast.journal.stack_files import Frame

_NO_PEER = ErrorText(
    r"(Barrier|barrier) timed out|DEADLINE_EXCEEDED.*(coordination|barrier|connect|task)|"
    r"coordination service.*(unavailable|error)|UNAVAILABLE: .*(connect|task|peer|address)|"
    r"unreachable.*(task|peer|worker)|Connecting to coordinator|missing.*(rank|task)|"
    r"Gloo.*(timed out|connect|reset|closed)|NCCL.*(timeout|unhandled system error)|heartbeat timeout"
)
#: Variables that name several machines.
_GROUP_VARIABLES = ("TF_CONFIG", "JAX_COORDINATOR_ADDRESS")
#: Functions and files in which a process waits for its group.
_INITIALIZES = ("ensure_initialized", "distributed/initialize", "jax/_src/distributed.py")
_JOINS = (*_INITIALIZES, "wait_at_barrier", "horovod", "multi_worker")
#: torch's own: the rendezvous, and every collective after it.
_TORCH = ("torch/distributed/rendezvous.py", "torch/distributed/distributed_c10d.py")
_COLLECTIVES = ("configure_collective_ops", "enable_collective_ops", "collective_all_reduce_strategy")
_CERTAIN_JOINS = ("ensure_initialized", "wait_at_barrier", "initialize")
#: Remarks of the coordinator about an agent that the others cannot continue without; "network" is about no agent.
_HOLDS_UP = ("missing", "silent", "suspended", "waited-for", "network")
_FACTS_OF_PEER = 3
_START_ALL = Remedy("group.start-all")
_REMEDIES = (_START_ALL, Remedy("group.same-addresses"))


@cause("peer-missing", specialises=("script-error", "input-blocked", "native-crash"))
def peer_missing(evidence: Evidence) -> Finding | None:
    by_coordinator = _seen_by_coordinator(evidence)
    if by_coordinator is not None:
        return by_coordinator
    main = evidence.stacks.main if evidence.stacks is not None else None
    waiting = stalled_thread(evidence, lambda thread: thread is main and not thread.busy)
    if waiting is not None and (inside := waiting.thread.within(*_JOINS, *_COLLECTIVES, *_TORCH)) is not None:
        return _joining(evidence, waiting, inside)
    if main is not None and main.joins_processes and (found := _between_children(evidence)) is not None:
        return found
    quote = _NO_PEER.match(evidence)
    if quote is None:
        other = awaited(evidence)
        return _over_a_socket(evidence, other) if other is not None else None
    strength = Strength.established_if(evidence.error is not None)
    return Finding(strength, Title("peer-missing"), quote.facts, _REMEDIES)


def _joining(evidence: Evidence, waiting: StalledThread, inside: Frame) -> Finding | None:
    """The main thread waits in the start of a group, or in a barrier."""
    environments = [seen.event.environment for seen in evidence.all(ev.FrameworkSeen)]
    variables = [name for one in environments for name in _GROUP_VARIABLES if name in one]
    of_group = waiting.thread.within("collective", "multi_worker", "distribute") is not None
    if plain_name(inside) == "ensure_initialized" and not (variables or of_group):
        return None  # the first use of TensorFlow on one machine
    certain = plain_name(inside) in _CERTAIN_JOINS or inside.file.endswith(_TORCH)
    strength = Strength.supported_if(certain or bool(variables))
    configured = [Fact("group.configured", {"variable": name}, "journal.jsonl") for name in variables[:1]]
    seen = [waiting.fact_inside(inside), *configured]
    return Finding(strength, Title("peer-missing.joining"), seen, _REMEDIES)


def _over_a_socket(evidence: Evidence, other: Awaited) -> Finding | None:
    """The script has sockets of its own, and the process at the other end does not come, or is silent."""
    if other.end not in (OtherEnd.PEER, OtherEnd.EITHER):
        return None
    socket = other.stalled.thread.socket
    values = {"state": other.state, "port": socket.get("port"), "clients": socket.get("clients", 0),
              "where": other.stalled.thread.users_file_line}  # fmt: skip
    return Finding(
        Strength.supported_if(other.end is OtherEnd.PEER),
        Title("peer-missing.socket" if other.end is OtherEnd.PEER else "peer-missing.or-data", values),
        facts(silence(evidence), other.stalled.fact, other.fact),
        [Remedy("group.start-others", values), Remedy("group.with-timeout")],
    )


def _between_children(evidence: Evidence) -> Finding | None:
    """One process that this one started waits for the others in a collective, and another is elsewhere."""
    stacks = evidence.stacks
    mains = stalled_threads(evidence, lambda thread: thread.main and thread.users is not None)
    if stacks is None:
        return None
    own = [one for one in mains if one.process.parent == stacks.process.pid]
    waiting = [one for one in own if _inside_collective(one) is not None and not one.thread.busy]
    elsewhere = [one for one in own if one not in waiting]
    if waiting and not elsewhere:  # all wait, and not for the same
        elsewhere = [one for one in waiting if one.thread.where != waiting[0].thread.where]
    if not waiting or not elsewhere:
        return None
    inside = _inside_collective(waiting[0])
    where = elsewhere[0].thread.users_line
    return Finding(
        Strength.SUPPORTED,
        Title("peer-missing.elsewhere", {"where": where, "steps": not even(evidence)}),
        [
            *([waiting[0].fact_inside(inside)] if inside is not None else []),
            *(
                Fact("group.elsewhere", {"pid": one.process.pid, "where": one.thread.where}, stacks.source)
                for one in elsewhere[:_FACTS_OF_PEER]
            ),
        ],
        [Remedy("group.same-collectives" if even(evidence) else "group.same-batches"), *_REMEDIES],
    )


def _inside_collective(one: StalledThread) -> Frame | None:
    return one.thread.within(*_JOINS, *_COLLECTIVES, *_TORCH)


def _seen_by_coordinator(evidence: Evidence) -> Finding | None:
    """What `holdfast launch` saw of the whole group; this folder is that of one agent."""
    lost = evidence.all(ev.AgentLost)
    remarks = [one for one in evidence.all(ev.GroupRemark) if one.event.remark in _HOLDS_UP]
    if evidence.exit_code == 0 or not (lost or remarks):
        return None
    if lost:
        return _lost(lost[-1])
    kind, rank = remarks[-1].event.remark, next(iter(remarks[-1].event.ranks), None)
    seen = [remarks[-1].fact("group.remark", text=remarks[-1].event.text)]
    if kind == "network":
        return Finding(Strength.SUPPORTED, Title("peer-missing.network"), seen, [_START_ALL])
    rejected = evidence.all(ev.PeerRejected)
    if kind == "missing" and rejected:
        seen += [
            one.fact("group.rejected", address=one.event.address, why=one.event.why) for one in rejected[:3]
        ]
        return Finding(Strength.SUPPORTED, Title("peer-missing.rejected"), seen, [Remedy("group.same-token")])
    title = Title("peer-missing.agent", {"rank": rank, "remark": kind})
    remedies = [Remedy("group.explain-agent", {"rank": rank}), _START_ALL]
    return Finding(Strength.ESTABLISHED, title, seen, remedies)


def _lost(lost: Recorded[ev.AgentLost]) -> Finding | None:
    event = lost.event
    if event.rank == 0:
        return None  # this folder is that agent's own, and its own records say more
    seen = [lost.fact("group.remark", text=event.text)]
    of_peer = event.verdict.get("because", [])[:_FACTS_OF_PEER]
    seen += [Fact("group.remark", {"text": str(one.get("fact"))}, f"peers/{event.rank}") for one in of_peer]
    values = {"rank": event.rank, "signal": event.signal, "exit_code": event.exit_code}
    remedies = [Remedy("group.explain-agent", {"rank": event.rank}), _START_ALL]
    return Finding(Strength.ESTABLISHED, Title("peer-missing.lost", values), seen, remedies)
