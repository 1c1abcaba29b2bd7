"""An allocation on the host was refused: an exception, an abort or a wordless crash, not a kill."""

from __future__ import annotations

import re

from holdfast.explain.readings.end import end_seen
from holdfast.explain.readings.error import ErrorText, full_disk, user_line
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import at_the_end, grew, refused_memory
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev
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
_LIMITS = ("as", "data")  # of address space and of data, as `rlimits` names them


@cause(
    "memory-refused",
    specialises=("script-error", "native-crash", "callback-raised"),
    mechanism=True,
)
def memory_refused(evidence: Evidence) -> Finding | None:
    if not evidence.went_wrong or evidence.exit_signal == "SIGKILL":
        return None
    quote = refused_memory(evidence)
    if quote is None or "GPU" in quote.text:
        return _without_words(evidence)
    tensor, array = _TENSOR.search(quote.whole), _ARRAY.search(quote.whole)
    values = {
        "shape": [int(side) for side in tensor[1].split(",") if side] if tensor else None,
        "bytes": _bytes(array) if array and not tensor else None,
        "array": array[3] if array and not tensor else None,
        "dtype": array[4] if array else None,
    }
    grown = evidence.growth.when not in (GrowthShape.NONE, GrowthShape.ONE_JUMP)
    facts = [quote.fact, *user_line(evidence), *_limits(evidence), *at_the_end(evidence)]
    certain = evidence.error is not None or evidence.exit_signal == "SIGABRT"
    return Finding(
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        Title("memory-refused", values),
        because=[*facts, grew(evidence)] if grown else facts,
        remedies=_remedies(array[4] if array else None),
    )


def _bytes(array: re.Match[str]) -> int | None:
    try:
        return parse_size(f"{array[1]} {array[2]}")
    except ValueError:
        return None


def _remedies(dtype: str | None) -> tuple[Remedy, ...]:
    """The first depends on what was to be made; the limit may be the reason in any case."""
    if not dtype:
        return Remedy("batch.shrink"), Remedy("limit.raise-address-space")
    half = (Remedy("array.use-float32"),) if dtype == "float64" else ()
    return *half, Remedy("array.read-in-parts"), Remedy("limit.raise-address-space")


def _without_words(evidence: Evidence) -> Finding | None:
    """A SIGSEGV or an abort under a limit on address space, with nothing printed about memory."""
    limits = _limits(evidence)
    if not limits or not evidence.crashed or full_disk(evidence) is not None or _threads_refused(evidence):
        return None
    limit = min(fact.values["limit_bytes"] for fact in limits)
    used = max((sample.virtual_bytes or 0 for _, sample in evidence.samples), default=0)
    facts = [*end_seen(evidence), *limits]
    signs = [Fact("memory.address-space", {"used_bytes": used}, "vitals.jsonl")]
    signs = [*(signs if used > _NEARLY_USED_UP * limit else []), *_crash_in_operation(evidence, limit)]
    quote = _NO_THREAD.match(evidence)
    signs += [quote.fact] if quote is not None else []
    if not signs:
        return None
    return Finding(
        Strength.SUPPORTED,
        Title("memory-refused.without-words", {"limit_bytes": limit, "signal": evidence.exit_signal}),
        because=[*facts, *signs],
        against=[Fact("output.names-no-memory", {}, "output.log")],
        remedies=_remedies(None),
    )


def _limits(evidence: Evidence) -> list[Fact]:
    machine = evidence.last(ev.MachineRead)
    rlimits = machine.event.rlimits if machine is not None else {}
    return [
        Fact("limit.memory", {"name": f"RLIMIT_{name.upper()}", "limit_bytes": rlimits[name]}, machine.source)
        for name in _LIMITS
        if machine is not None and rlimits.get(name)
    ]


def _threads_refused(evidence: Evidence) -> bool:
    """The kernel refused a process or a thread, which ends alike and is the cause thread-limit."""
    end = evidence.ended.event if evidence.ended is not None else None
    return end is not None and (end.pids_refused_after or 0) > (end.pids_refused_before or 0)


def _crash_in_operation(evidence: Evidence, limit: int) -> list[Fact]:
    """A crash inside an operation of TensorFlow, under a limit below the machine's memory."""
    fatal, opened = evidence.fatal, evidence.opened
    if opened is None or limit >= opened.event.memory_bytes:
        return []
    if fatal is None or "quick_execute" not in fatal.inside:
        return []
    return [Fact("crash.in-operation", {"where": fatal.where}, fatal.source)]
