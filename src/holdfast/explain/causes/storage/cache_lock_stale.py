"""A lock file of an earlier, killed run is in the way."""

import re

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_LOCKED = ErrorText(
    r"cache lockfile.*already exists|AlreadyExistsError.*lockfile|[Ll]ock ?file .*(exists|stale)|"
    r"There appears to be a concurrent caching iterator"
)
_FILE = re.compile(r"(?<![\w./~+-])([\w./~+-]+\.lockfile)")


@cause("cache-lock-stale", specialises=("script-error",))
def cache_lock_stale(evidence: Evidence) -> Finding | None:
    quote = _LOCKED.match(evidence)
    if quote is None:
        return None
    named = _FILE.search(quote.text + evidence.error_text)
    caches = [node for node in evidence.nodes if node.op == "cache"]
    facts = [Fact("pipeline.caches-to-file", {"where": node.where}, node.source) for node in caches[:1]]
    strength = Strength.established_if("lockfile" in quote.whole)
    title = Title("cache-lock-stale", {"file": named[1] if named else ""})
    remedies = [Remedy("run.start-again"), Remedy("cache.remove-locks")]
    return Finding(strength, title, [*quote.facts, *facts], remedies)
