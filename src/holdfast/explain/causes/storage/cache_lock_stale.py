"""A lock file of an earlier, killed run is in the way."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line


@cause("cache-lock-stale", Group.STORAGE, specialises=("script-error",))
def cache_lock_stale(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence,
        r"cache lockfile.*already exists|AlreadyExistsError.*lockfile|[Ll]ock ?file .*(exists|stale)|There "
        r"appears to be a concurrent caching iterator",
    )
    if said is None:
        return None
    text = said[1].fact + evidence.error_text
    file = re.search(r"([\w./~+-]+\.lockfile)", text)
    nodes = [node for node in evidence.nodes if node.op == "cache"]
    where = f" ({nodes[0].where})" if nodes and nodes[0].where else ""
    facts = [said[1], *users_line(evidence)]
    if nodes:
        facts.append(Fact(f"the pipeline caches to a file{where}", nodes[0].source))
    return Finding(
        "cache-lock-stale",
        Strength.ESTABLISHED if file or "lockfile" in text else Strength.SUPPORTED,
        f"the cache's lock file {file[1] if file else ''} was left by a run that was killed".replace(
            "  ", " "
        ),
        tuple(facts),
        (),
        (
            Remedy("start it again: TensorFlow has removed the lock, and the next run works", "your-choice"),
            Remedy(
                "remove the cache's *.lockfile and *.tempstate* files; a cache for each run avoids it",
                "your-choice",
                'ds = ds.cache(f"/tmp/cache-{os.getpid()}")',
            ),
        ),
    )
