"""A filter lets nothing through, so the next batch never comes."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.words import counted, listed


def filter_never_passes(evidence: Evidence) -> Finding | None:
    standing = evidence.standing
    filters = [node for node in evidence.nodes if node.op == "filter"]
    repeats = [
        node for node in evidence.nodes if node.op == "repeat" and (node.settings.get("count") in (None, -1))
    ]
    if evidence.stall is None or evidence.phase not in (
        "fill",
        "compile",
        "data-wait",
        "step",
        "between",
        "validation",
    ):
        return None
    if standing is None:
        return None
    native = [thread for thread in standing.busy if not thread.python]
    own = [thread for thread in standing.busy if thread.python and thread.users is not None]
    if not native or own or not (filters or repeats):
        return None
    idle_main = standing.main is None or not standing.main.busy
    facts = [
        Fact(
            f"{counted(len(native), 'native thread')} of the pipeline computes and no batch comes: {listed([thread.name or 'unnamed' for thread in native], 4)}",
            standing.source,
        )
    ]
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
        Strength.SUPPORTED if filters and idle_main else Strength.POSSIBLE,
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


PAGE = """\
What it is
  `ds.repeat().filter(keep)` with a condition that never holds searches for
  ever: no batch, no error, and busy threads inside TensorFlow.

How Holdfast knows
  The run stands waiting for a batch, native threads compute, no Python of
  yours does, and the pipeline has a filter (behind a repeat).

How to make it happen
  `ds.repeat().filter(lambda x, y: False)`

How to cure it
  Filter first, repeat afterwards, and count what passes.

When Holdfast would be wrong
  If the native threads do some other endless work, such as one huge
  element.
"""
