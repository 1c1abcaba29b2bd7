"""It works from swap: steps wait for pages to be read back."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.explain.readings.memory import at_the_end
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

#: Major page faults, and pages read back from swap: from here on it is possible, and so many are blamed. All chosen.
_FAULTS_PER_S, _MANY_FAULTS_PER_S = 50, 200
_PAGES_PER_S, _MANY_PAGES_PER_S = 50, 2000
#: In swap, where the machine's count of pages read back is not known: less is what a start leaves there.
_IN_SWAP_BYTES = 32 << 20
#: A rate over fewer samples or a shorter time is one burst.
_LEAST_SAMPLES, _LEAST_S = 4, 3
_PAGE_BYTES = 4096


class _Paging(NamedTuple):
    seconds: float
    faults_per_s: float
    pages_per_s: float | None  # None: the machine does not count them
    swapped_bytes: int
    source: str


@cause("swapping", mechanism=True)
def swapping(evidence: Evidence) -> Finding | None:
    paging = _paging(evidence)
    if paging is None or paging.seconds < _LEAST_S or paging.faults_per_s < _FAULTS_PER_S:
        return None
    pages = paging.pages_per_s
    if pages < _PAGES_PER_S if pages is not None else paging.swapped_bytes < _IN_SWAP_BYTES:
        return None  # faults alone are those of mapped files, too
    read_back = pages * _PAGE_BYTES if pages else None
    values = {"faults_per_s": paging.faults_per_s, "bytes_per_s": read_back}
    facts = [Fact("swap.faults", values, paging.source)]
    if paging.swapped_bytes:
        facts.append(Fact("swap.used", {"bytes": paging.swapped_bytes}, paging.source))
    heavy = paging.faults_per_s > _MANY_FAULTS_PER_S or (pages or 0) > _MANY_PAGES_PER_S
    return Finding(
        Strength.SUPPORTED if heavy else Strength.POSSIBLE,
        Title("swapping"),
        because=[*facts, *at_the_end(evidence)],
        remedies=[Remedy("memory.more-or-need-less")],
        ends=evidence.is_stalled,
    )


def _paging(evidence: Evidence) -> _Paging | None:
    """Over the last two thirds of the training: the start reads its libraries from disk."""
    trained = [pair for pair in evidence.samples if pair[1].phase not in ("start", "import", "")]
    series = trained or list(evidence.samples)
    if len(series) < _LEAST_SAMPLES:
        return None
    late = series[len(series) // 3 :]
    (first_line, first), (last_line, last) = late[0], late[-1]
    seconds = max(1e-6, last.mono - first.mono)
    pages = None
    if first.swap_in_pages is not None:
        pages = ((last.swap_in_pages or 0) - first.swap_in_pages) / seconds
    return _Paging(
        seconds,
        (last.major_faults - first.major_faults) / seconds,
        pages,
        max(sample.swap_bytes or 0 for _, sample in late),
        f"vitals.jsonl:{first_line}-{last_line}",
    )
