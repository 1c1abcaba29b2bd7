"""A filter lets nothing through, so the next batch never comes."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import counted, listed, span
from holdfast.journal import events as ev
from holdfast.journal.beats import Phase


@cause("filter-never-passes", Group.STEPS, specialises=("input-blocked",))
def filter_never_passes(evidence: Evidence) -> Finding | None:
    standing = evidence.stacks
    filters = [node for node in evidence.nodes if node.op == "filter"]
    repeats = [
        node for node in evidence.nodes if node.op == "repeat" and (node.settings.get("count") in (None, -1))
    ]
    if evidence.stall is None or evidence.phase not in (
        Phase.FILL,
        Phase.COMPILE,
        Phase.DATA_WAIT,
        Phase.STEP,
        Phase.BETWEEN,
        Phase.VALIDATION,
    ):
        return None
    sifted = _sifted(evidence)
    busy = standing.busy if standing is not None else ()
    native = [thread for thread in busy if not thread.python]
    own = [thread for thread in busy if thread.python and thread.users is not None]
    if sifted is None and (not native or own or not (filters or repeats)):
        return None
    idle_main = standing is None or standing.main is None or not standing.main.busy
    facts = [] if sifted is None else [sifted]
    if native and standing is not None:
        names = listed([thread.name or "unnamed" for thread in native], 4)
        busily = (
            f"{counted(len(native), 'native thread')} of the pipeline computes and no batch comes: {names}"
        )
        facts.append(Fact(busily, standing.source))
    for node in filters[:1]:
        facts.append(
            Fact(
                f"the pipeline has a filter{f' ({node.where})' if node.where else ''}"
                + (f": {node.settings['function']}" if node.settings.get("function") else ""),
                node.source,
            )
        )
    if repeats:
        facts.append(Fact("and repeats for ever, so it never finds its own end", repeats[0].source))
    return Finding(
        "filter-never-passes",
        Strength.ESTABLISHED
        if sifted is not None
        else Strength.SUPPORTED
        if filters and idle_main
        else Strength.POSSIBLE,
        "the dataset's filter lets nothing through: it searches for ever",
        tuple(facts),
        (),
        (
            Remedy(
                "try the filter alone, without repeat",
                "your-choice",
                "print(sum(1 for _ in ds.filter(keep).take(10)))",
            ),
            Remedy(
                "filter before repeat; an empty dataset then ends and is told",
                "your-choice",
                "ds = ds.filter(keep).repeat()",
            ),
        ),
    )


def _sifted(evidence: Evidence) -> Fact | None:
    """By tf.data's own counters: the filter took in thousands and handed on none between two looks."""
    looks = [said for said in evidence.all(ev.PipelineSeen) if said.event.role == "train"]
    if len(looks) < 2:
        return None
    before, after = looks[-2:]
    old, new = before.event.nodes, after.event.nodes
    for at, node in enumerate(new[:-1] if len(old) == len(new) else ()):
        passed = int(node.get("elements", 0)) - int(old[at].get("elements", 0))
        taken = int(new[at + 1].get("elements", 0)) - int(old[at + 1].get("elements", 0))
        if "Filter" in str(node.get("name")) and passed == 0 and taken >= _MANY:
            return Fact(
                f"the filter was given {taken:,} elements in {span(after.mono - before.mono)}"
                " and let none of them through",
                after.source,
            )
    return None


#: A filter that passes one in so many is slow, but it is not endless.
_MANY = 1000
