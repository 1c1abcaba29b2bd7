"""It works from swap: steps wait for pages to be read back."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, at_the_end
from holdfast.explain.words import size, whole


@cause("swapping", Group.MEMORY, mechanism=True)
def swapping(evidence: Evidence) -> Finding | None:
    series = [(line, s) for line, s in evidence.samples if s.phase not in ("start", "import", "")] or list(
        evidence.samples
    )
    if len(series) < 4:
        return None
    late = series[len(series) // 3 :]
    (first_line, first), (last_line, last) = late[0], late[-1]
    seconds = max(1e-6, last.mono - first.mono)
    faults = (last.major_faults - first.major_faults) / seconds
    pages = (
        ((last.swap_in_pages or 0) - (first.swap_in_pages or 0)) / seconds
        if first.swap_in_pages is not None
        else 0.0
    )
    swapped = max((s.swap_bytes or 0 for _, s in late), default=0)
    read_back = pages >= 50 if first.swap_in_pages is not None else swapped >= (32 << 20)
    if seconds < 3 or faults < 50 or not read_back:  # faults alone are those of mapped files, too
        return None
    source = f"vitals.jsonl:{first_line}-{last_line}"
    facts = [Fact(f"{whole(faults)} major page faults a second: memory read back from disk", source)]
    if pages:
        facts.append(Fact(f"the machine read {size(pages * 4096)} a second from swap", source))
    if swapped:
        facts.append(Fact(f"{size(swapped)} of the process stood in swap", source))
    facts += at_the_end(evidence)
    heavy = faults > 200 or pages > 2000
    return Finding(
        "swapping",
        Strength.SUPPORTED if heavy else Strength.POSSIBLE,
        "it works from swap: steps wait for memory to be read back from disk",
        tuple(facts),
        (),
        (
            Remedy(
                "make it need less memory: a smaller batch, a shallower prefetch, fewer workers",
                "your-choice",
            ),
            Remedy("give the machine more memory", "your-choice"),
        ),
        ends=evidence.is_stalled,
    )
