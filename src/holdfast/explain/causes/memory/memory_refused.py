"""An allocation on the host was refused: an exception, an abort or a wordless crash, not a kill."""

import re

from holdfast.explain.readings.end import end_seen
from holdfast.explain.readings.error import FULL_DISK, ErrorText
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.limits import pids_refused, rlimit
from holdfast.explain.readings.memory import at_the_end, grew, refused_memory
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause
from holdfast.units import parse_size

#: TensorFlow's words: "OOM when allocating tensor with shape[64,512,512,256]"
_TENSOR = re.compile(r"shape ?\[([\d,]+)\]")
#: NumPy's: "Unable to allocate 234. GiB for an array with shape (40000, 512, 512, 3) and data type float64"
_ARRAY = re.compile(
    r"Unable to allocate ([\d.]+?)\.? (\w+)(?: for an array with shape (\([\d, ]*\)) and data type (\w+))?"
)
_NO_THREAD = ErrorText(r"pthread_create\(?\)? failed|can't start new thread|Thread .* creation")
#: Share of a limit on address space above which it counts as nearly used up. Chosen: the request that is refused
#: comes after the last sample, and may be for a quarter of what is allowed.
_NEARLY_USED_UP = 0.75


@cause("memory-refused", specialises=("script-error", "native-crash", "callback-raised"), mechanism=True)
def memory_refused(evidence: Evidence) -> Finding | None:
    if not evidence.went_wrong or evidence.exit_signal == "SIGKILL":
        return None
    quote = refused_memory(evidence)
    if quote is None or "GPU" in quote.text:
        return _without_words(evidence)
    tensor, array = _TENSOR.search(quote.whole), _ARRAY.search(quote.whole)
    dtype = array[4] if array else None
    values = {
        "shape": [int(side) for side in tensor[1].split(",") if side] if tensor else None,
        "bytes": _bytes(array) if array and not tensor else None,
        "array": array[3] if array and not tensor else None,
        "dtype": dtype,
    }
    facts = [*quote.facts, *_limits(evidence), *at_the_end(evidence)]
    if evidence.growth.when not in (GrowthShape.NONE, GrowthShape.ONE_JUMP):
        facts.append(grew(evidence))
    strength = Strength.established_if(evidence.error is not None or evidence.exit_signal == "SIGABRT")
    return Finding(strength, Title("memory-refused", values), facts, _remedies(dtype))


def _bytes(array: re.Match[str]) -> int | None:
    try:
        return parse_size(f"{array[1]} {array[2]}")
    except ValueError:
        return None


def _remedies(dtype: str | None = None) -> list[Remedy]:
    """The first depends on what was to be made; the limit may be the reason in any case."""
    half = [Remedy("array.use-float32")] if dtype == "float64" else []
    smaller = Remedy("array.read-in-parts") if dtype else Remedy("batch.shrink")
    return [*half, smaller, Remedy("limit.raise-address-space")]


def _without_words(evidence: Evidence) -> Finding | None:
    """A SIGSEGV or an abort under a limit on address space, with nothing printed about memory."""
    limits = _limits(evidence)
    # A refused thread ends alike, and is the cause thread-limit.
    if not limits or not evidence.crashed or FULL_DISK.match(evidence) is not None or pids_refused(evidence):
        return None
    limit = min(fact.values["limit_bytes"] for fact in limits)
    used = max((sample.virtual_bytes or 0 for _, sample in evidence.samples), default=0)
    near = used > _NEARLY_USED_UP * limit
    signs = [Fact("memory.address-space", {"used_bytes": used}, "vitals.jsonl")] if near else []
    signs += _crash_in_operation(evidence, limit)
    quote = _NO_THREAD.match(evidence)
    signs += [quote.fact] if quote is not None else []
    if not signs:
        return None
    title = Title("memory-refused.without-words", {"limit_bytes": limit, "signal": evidence.exit_signal})
    facts = [*end_seen(evidence), *limits, *signs]
    against = [Fact("output.names-no-memory", {}, "output.log")]
    return Finding(Strength.SUPPORTED, title, facts, _remedies(), against=against)


def _limits(evidence: Evidence) -> list[Fact]:
    """On address space and on data."""
    limits = {name: rlimit(evidence, name) for name in ("as", "data")}
    return [
        Fact("limit.memory", {"name": f"RLIMIT_{name.upper()}", "limit_bytes": limit.value}, limit.source)
        for name, limit in limits.items()
        if limit is not None
    ]


def _crash_in_operation(evidence: Evidence, limit: int) -> list[Fact]:
    """A crash inside an operation of TensorFlow, under a limit below the machine's memory."""
    fatal, opened = evidence.fatal, evidence.opened
    if opened is None or limit >= opened.event.memory_bytes:
        return []
    if fatal is None or "quick_execute" not in fatal.inside:
        return []
    return [Fact("crash.in-operation", {"where": fatal.where}, fatal.source)]
