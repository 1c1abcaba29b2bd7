"""It waits for another machine that is not there."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.readings.stacks import plain_name
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line
from holdfast.journal import events as ev


@cause(
    "peer-missing",
    Group.ENVIRONMENT,
    specialises=(
        "script-error",
        "input-blocked",
    ),
)
def peer_missing(evidence: Evidence) -> Finding | None:
    told = _told_by_conductor(evidence)
    if told is not None:
        return told
    said = matched(
        evidence,
        r"(Barrier|barrier) timed out|DEADLINE_EXCEEDED.*(coordination|barrier|connect|task)|coordination "
        r"service.*(unavailable|error)|UNAVAILABLE: .*(connect|task|peer|address)|unreachable.*(task|peer|worker)|"
        r"Connecting to coordinator|missing.*(rank|task)|Gloo.*(timed out|connect)|NCCL.*(timeout|unhandled "
        r"system error)|heartbeat timeout",
    )
    configured = next(
        (
            env
            for said_ in evidence.all(ev.FrameworkSeen)
            for env in ("TF_CONFIG", "JAX_COORDINATOR_ADDRESS")
            if env in said_.event.environment
        ),
        "",
    )
    standing = evidence.stacks
    main = standing.main if standing is not None else None
    inside = (
        main.within(
            "ensure_initialized",
            "distributed/initialize",
            "jax/_src/distributed.py",
            "collective_all_reduce_strategy",
            "multi_worker",
            "wait_at_barrier",
            "horovod",
            "configure_collective_ops",
            "enable_collective_ops",
        )
        if main is not None
        else None
    )
    if (
        inside is not None
        and evidence.stall is not None
        and not (main is not None and main.busy)
        and standing is not None
    ):
        certain = plain_name(inside) in ("ensure_initialized", "wait_at_barrier", "initialize") or bool(
            configured
        )
        if plain_name(inside) == "ensure_initialized" and not (
            configured or (main is not None and main.within("collective", "multi_worker", "distribute"))
        ):
            return None
        facts = [
            Fact(f"the main thread waits in {inside.function} ({inside.file}:{inside.line})", standing.source)
        ]
        facts += (
            [Fact(f"called from {main.where}", standing.source)]
            if main is not None and main.users is not None
            else []
        )
        facts += [Fact(f"{configured} names several machines", "journal.jsonl")] if configured else []
        return Finding(
            "peer-missing",
            Strength.SUPPORTED if certain else Strength.POSSIBLE,
            "it waits for the other machines to join",
            tuple(facts),
            (),
            _REMEDIES,
        )
    if said is None:
        return None
    return Finding(
        "peer-missing",
        Strength.ESTABLISHED if evidence.error is not None else Strength.SUPPORTED,
        "another machine of the group is not there",
        (said[1], *users_line(evidence)),
        (),
        _REMEDIES,
    )


def _told_by_conductor(evidence: Evidence) -> Finding | None:
    """What `holdfast launch` saw of the whole group; this folder is that of one process of it."""
    if evidence.exit_code == 0:
        return None
    lost = evidence.all(ev.AgentLost)
    if lost:
        return _lost(lost[-1])
    held_up = [said for said in evidence.all(ev.GroupRemark) if said.event.remark in _STANDING]
    return _held_up(held_up[-1]) if held_up else None


def _lost(said: Recorded[ev.AgentLost]) -> Finding | None:
    one = said.event
    if one.rank == 0:
        return None  # this folder is that process's own, and what it tells itself says more
    because = [Fact(one.text, said.source)]
    for fact in one.verdict.get("because", [])[:3]:
        because.append(Fact(str(fact.get("fact")), f"peers/{one.rank}"))
    how = f"was ended by {one.signal}" if one.signal else f"ended with exit code {one.exit_code}"
    return _found(one.rank, how, because)


def _held_up(said: Recorded[ev.GroupRemark]) -> Finding:
    one, because = said.event, [Fact(said.event.text, said.source)]
    if one.remark == "network":
        return Finding("peer-missing", Strength.SUPPORTED, _NETWORK, tuple(because), (), _REMEDIES[:1])
    return _found(next(iter(one.ranks), ""), _STOOD[one.remark], because)


def _found(rank: int | str, how: str, because: list[Fact]) -> Finding:
    remedies = (
        Remedy(
            "look at that process, whose folder is its own",
            "your-choice",
            f"holdfast explain RUN/peers/{rank}",
        ),
        *_REMEDIES[:1],
    )
    title = f"process {rank} of the group {how}"
    return Finding("peer-missing", Strength.ESTABLISHED, title, tuple(because), (), remedies)


#: Remarks of the conductor about a process that the others cannot go on without.
_STOOD = {"missing": "never came", "silent": "cannot be reached", "suspended": "is suspended",
          "waited-for": "holds up all others"}  # fmt: skip
_STANDING = (*_STOOD, "network")  # the last is about no process
_NETWORK = "the network between the processes of the group does not carry a step"


_REMEDIES = (
    Remedy(
        "start all of them, and check that each can reach the others' address and port",
        "your-choice",
        "nc -zv HOST PORT",
    ),
    Remedy("the addresses in TF_CONFIG must be the same on all, in the same order", "your-choice"),
)
