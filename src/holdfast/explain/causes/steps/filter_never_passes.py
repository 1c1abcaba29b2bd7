"""A filter lets nothing through, so the next batch never comes."""

from __future__ import annotations

from holdfast.explain.readings.pipeline import INFINITE, PipelineNode
from holdfast.explain.readings.stacks import StackReading
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause, ev

#: Phases in which a batch may be awaited.
_AWAITS_DATA = (Phase.FILL, Phase.COMPILE, Phase.DATA_WAIT, Phase.STEP, Phase.BETWEEN, Phase.VALIDATION)
#: Elements that went into a filter while none came out. Chosen: one that passes one in so many is slow, not endless.
_MANY = 1000


@cause("filter-never-passes", specialises=("input-blocked",))
def filter_never_passes(evidence: Evidence) -> Finding | None:
    if evidence.stall is None or evidence.phase not in _AWAITS_DATA:
        return None
    stacks, rejected = evidence.stacks, _rejected(evidence)
    filters = [node for node in evidence.nodes if node.op == "filter"]
    repeats = [node for node in evidence.nodes if node.op == "repeat" and _is_endless(node)]
    searching = _searching(stacks) if stacks is not None else []
    if not rejected and not (searching and (filters or repeats)):
        return None
    idle_main = stacks is None or stacks.main is None or not stacks.main.busy
    facts = [*rejected, *searching]
    for node in filters[:1]:
        values = {"where": node.where, "function": node.settings.get("function") or ""}
        facts.append(Fact("pipeline.filter", values, node.source))
    facts += [Fact("pipeline.repeats", {}, node.source) for node in repeats[:1]]
    supported = Strength.SUPPORTED if filters and idle_main else Strength.POSSIBLE
    return Finding(
        Strength.ESTABLISHED if rejected else supported,
        Title("filter-never-passes"),
        because=facts,
        remedies=[Remedy("filter.count-what-passes"), Remedy("filter.before-repeat")],
    )


def _is_endless(node: PipelineNode) -> bool:
    return node.settings.get("count") in (None, INFINITE)


def _searching(stacks: StackReading) -> list[Fact]:
    """Native threads that compute while no Python of the user's does."""
    native = [thread for thread in stacks.busy if not thread.python]
    own = [thread for thread in stacks.busy if thread.python and thread.users is not None]
    if not native or own:
        return []
    names = [thread.name or "unnamed" for thread in native]
    return [Fact("pipeline.threads-busy", {"count": len(native), "names": names}, stacks.source)]


def _rejected(evidence: Evidence) -> list[Fact]:
    """By tf.data's own counters: the filter took in thousands and passed none on between two samples."""
    seen = [one for one in evidence.all(ev.PipelineSeen) if one.event.role == "train"]
    if len(seen) < 2 or len(seen[-2].event.nodes) != len(seen[-1].event.nodes):
        return []
    before, after = seen[-2:]
    moved = [
        int(new.get("elements", 0)) - int(old.get("elements", 0))
        for old, new in zip(before.event.nodes, after.event.nodes, strict=True)
    ]
    for at, node in enumerate(after.event.nodes[:-1]):
        if "Filter" in str(node.get("name")) and moved[at] == 0 and moved[at + 1] >= _MANY:
            values = {"elements": moved[at + 1], "seconds": after.mono - before.mono}
            return [Fact("filter.passed-none", values, after.source)]
    return []
