"""A filter lets nothing through, so the next batch never comes."""

from holdfast.explain.readings.pipeline import INFINITE, PipelineNode, pipeline_node
from holdfast.explain.readings.stacks import StackReading
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause, ev, facts

#: Phases in which a batch may be awaited.
_AWAITS_DATA = (Phase.FILL, Phase.COMPILE, Phase.DATA_WAIT, Phase.STEP, Phase.BETWEEN, Phase.VALIDATION)
#: Elements that went into a filter while none came out. Chosen: one that passes one in so many is slow, not endless.
_MANY = 1000


@cause("filter-never-passes", specialises=("input-blocked",))
def filter_never_passes(evidence: Evidence) -> Finding | None:
    if evidence.stall is None or evidence.phase not in _AWAITS_DATA:
        return None
    role = "validation" if evidence.phase is Phase.VALIDATION else "train"
    stacks, rejected, nodes = evidence.stacks, _rejected(evidence, role), _nodes(evidence, role)
    filters = [node for node in nodes if node.op == "filter"]
    endless = [node for node in nodes if node.settings.get("count") in (None, INFINITE)]
    repeats = [node for node in endless if node.op == "repeat"]
    searching = _searching(stacks) if stacks is not None else None
    if rejected is None and (searching is None or not (filters or repeats)):
        return None
    idle_main = stacks is None or stacks.main is None or not stacks.main.busy
    supported = Strength.supported_if(filters and idle_main)
    return Finding(
        Strength.ESTABLISHED if rejected is not None else supported,
        Title("filter-never-passes"),
        facts(
            rejected,
            searching,
            [_filter(node) for node in filters[:1]],
            [Fact("pipeline.repeats", {}, node.source) for node in repeats[:1]],
        ),
        (Remedy("filter.count-what-passes"), Remedy("filter.before-repeat")),
    )


def _filter(node: PipelineNode) -> Fact:
    values = {"where": node.where, "function": node.settings.get("function") or ""}
    return Fact("pipeline.filter", values, node.source)


def _searching(stacks: StackReading) -> Fact | None:
    """Native threads that compute while no Python of the user's does."""
    native = [thread for thread in stacks.busy if not thread.python]
    if not native or any(thread.users is not None for thread in stacks.busy):
        return None
    names = [thread.name or "unnamed" for thread in native]
    return Fact("pipeline.threads-busy", {"count": len(native), "names": names}, stacks.source)


def _nodes(evidence: Evidence, role: str) -> tuple[PipelineNode, ...]:
    data = evidence.data(role)
    if role == "train" or data is None:
        return evidence.nodes
    return tuple(pipeline_node(node, data.source) for node in data.event.nodes)


def _rejected(evidence: Evidence, role: str) -> Fact | None:
    """By tf.data's own counters: the filter took in thousands and passed none on between two samples."""
    seen = [one for one in evidence.all(ev.PipelineSeen) if one.event.role == role]
    if len(seen) < 2 or len(seen[-2].event.nodes) != len(seen[-1].event.nodes):
        return None
    before, after = seen[-2:]
    pairs = zip(before.event.nodes, after.event.nodes, strict=True)
    moved = [int(new.get("elements", 0)) - int(old.get("elements", 0)) for old, new in pairs]
    for at, node in enumerate(after.event.nodes[:-1]):
        if "Filter" in str(node.get("name")) and moved[at] == 0 and moved[at + 1] >= _MANY:
            return after.fact("filter.passed-none", elements=moved[at + 1], seconds=after.mono - before.mono)
    return None
