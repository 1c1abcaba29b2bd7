"""The process may not open another file."""

import errno

from holdfast.explain.readings.error import ErrorText, user_line
from holdfast.explain.readings.limits import rlimit
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_TOO_MANY = ErrorText(r"Too many open files|\[Errno 24\]|errno ?= ?24\b")


@cause("too-many-open-files", specialises=("script-error",))
def too_many_open_files(evidence: Evidence) -> Finding | None:
    quote = _TOO_MANY.match(evidence)
    if quote is None and not (evidence.error is not None and evidence.error.errno == errno.EMFILE):
        return None
    facts = [*(quote.facts if quote is not None else user_line(evidence)), *_course(evidence)]
    limit = rlimit(evidence, "nofile")
    facts += [Fact("limit.open-files", {"limit": limit.value}, limit.source)] if limit else []
    title = Title("too-many-open-files", {"limit": limit.value if limit else None})
    remedies = [Remedy("file.close"), Remedy("limit.raise-open-files")]
    return Finding(Strength.ESTABLISHED, title, facts, remedies)


def _course(evidence: Evidence) -> list[Fact]:
    counts = [(line, s.open_files) for line, s in evidence.samples if s.open_files is not None]
    if len(counts) < 2:
        return []
    (first_line, first), (last_line, last) = counts[0], counts[-1]
    return [Fact("files.open", {"first": first, "last": last}, f"vitals.jsonl:{first_line}-{last_line}")]
