"""It works from swap: steps wait for pages to be read back."""

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


@cause("swapping", mechanism=True)
def swapping(evidence: Evidence) -> Finding | None:
    trained = [pair for pair in evidence.samples if pair[1].phase not in ("start", "import", "")]
    series = trained or list(evidence.samples)
    late = series[len(series) // 3 :]  # the start reads its libraries from disk
    if len(series) < _LEAST_SAMPLES or late[-1][1].mono - late[0][1].mono < _LEAST_S:
        return None
    (first_line, first), (last_line, last) = late[0], late[-1]
    seconds, source = last.mono - first.mono, f"vitals.jsonl:{first_line}-{last_line}"
    swapped = max(sample.swap_bytes or 0 for _, sample in late)
    faults = (last.major_faults - first.major_faults) / seconds
    pages = None  # the machine does not count them
    if first.swap_in_pages is not None:
        pages = ((last.swap_in_pages or 0) - first.swap_in_pages) / seconds
    swaps = swapped >= _IN_SWAP_BYTES if pages is None else pages >= _PAGES_PER_S
    if faults < _FAULTS_PER_S or not swaps:  # faults alone are those of mapped files, too
        return None
    values = {"faults_per_s": faults, "bytes_per_s": pages * _PAGE_BYTES if pages else None}
    facts = [Fact("swap.faults", values, source)]
    facts += [Fact("swap.used", {"bytes": swapped}, source)] if swapped else []
    heavy = faults > _MANY_FAULTS_PER_S or (pages or 0) > _MANY_PAGES_PER_S
    return Finding(
        Strength.supported_if(heavy),
        Title("swapping"),
        because=[*facts, *at_the_end(evidence)],
        remedies=[Remedy("memory.more-or-need-less")],
        ends=evidence.is_stalled,
    )
