"""An allocation on the host was refused: an exception, an abort or a wordless crash, not a kill."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.unconverted import (
    Fact,
    Finding,
    Remedy,
    Strength,
    at_the_end,
    grew,
    matched,
    refused_memory,
    users_line,
)
from holdfast.explain.words import size
from holdfast.journal import events as ev


@cause(
    "memory-refused",
    Group.MEMORY,
    specialises=(
        "script-error",
        "native-crash",
        "callback-raised",
    ),
    mechanism=True,
)
def memory_refused(evidence: Evidence) -> Finding | None:
    if not evidence.went_wrong or evidence.exit_signal == "SIGKILL":
        return None
    said = refused_memory(evidence)
    if said is not None and "GPU" not in said[1].fact:
        return _finding(evidence, said[1])
    return _in_silence(evidence)


def _finding(evidence: Evidence, said: Fact) -> Finding:
    facts = [said, *users_line(evidence), *_limits(evidence), *at_the_end(evidence)]
    shape = re.search(r"shape ?\[([\d,]+)\]", evidence.error_text + said.fact)
    asked = _ARRAY.search(evidence.error_text) or _ARRAY.search(said.fact)
    what = f" for a tensor of [{shape[1]}]" if shape else _of_numpy(asked) if asked else ""
    if evidence.growth.when not in (GrowthShape.NONE, GrowthShape.ONE_JUMP):
        facts.append(grew(evidence))
    certain = evidence.error is not None or evidence.exit_signal == "SIGABRT"
    return Finding(
        "memory-refused",
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        f"a request for memory of the host{what} was refused",
        tuple(facts),
        (),
        _for_an_array(asked[4]) if asked and asked[4] else _REMEDIES,
    )


#: NumPy's words: "Unable to allocate 234. GiB for an array with shape (40000, 512, 512, 3) and data type float64"
_ARRAY = re.compile(
    r"Unable to allocate ([\d.]+?)\.? (\w+)(?: for an array with shape (\([\d, ]*\)) and data type (\w+))?"
)


def _of_numpy(asked: re.Match[str]) -> str:
    array = f", for an array of {asked[3]} {asked[4]}," if asked[3] else ""
    return f" of {asked[1]} {asked[2]}{array}"


def _for_an_array(kind: str) -> tuple[Remedy, ...]:
    halved = (Remedy("float32 takes half of it", "your-choice", 'array.astype("float32")'),)
    return (
        *(halved if kind == "float64" else ()),
        Remedy(
            "do not hold all of it at once: read it in pieces", "your-choice", 'np.load(path, mmap_mode="r")'
        ),
        _REMEDIES[-1],
    )


def _in_silence(evidence: Evidence) -> Finding | None:
    """A SIGSEGV or an abort under a limit on address space, with nothing said."""
    machine = evidence.last(ev.MachineRead)
    limits = {name: machine.event.rlimits.get(name) for name in ("as", "data")} if machine is not None else {}
    bound = min((limit for limit in limits.values() if limit), default=None)
    threads = matched(evidence, r"pthread_create\(?\)? failed|can't start new thread|Thread .* creation")
    disk = matched(evidence, r"No space left on device|errno ?= ?28|Errno 28")
    if bound is None or not evidence.crashed or disk is not None or machine is None:
        return None
    used = max((s.virtual_bytes or 0 for _, s in evidence.samples), default=0)
    near = used > 0.75 * bound
    opened = evidence.opened
    tight = opened is not None and bound < opened.event.memory_bytes
    asked_much = tight and evidence.fatal is not None and "quick_execute" in evidence.fatal.inside
    refused_pids = evidence.ended is not None and (evidence.ended.event.pids_refused_after or 0) > (
        evidence.ended.event.pids_refused_before or 0
    )
    if refused_pids or not (near or threads or asked_much):
        return None
    facts = [Fact(f"it ended on {evidence.exit_signal}", evidence.exit_source), *_limits(evidence)]
    if near:
        facts.append(Fact(f"it used {size(used)} of address space when last measured", "vitals.jsonl"))
    if asked_much and evidence.fatal is not None:
        facts.append(Fact("it crashed inside an operation of TensorFlow", evidence.fatal.source))
        facts += (
            [Fact(f"called at {evidence.fatal.where}", evidence.fatal.source)] if evidence.fatal.where else []
        )
    if threads is not None:
        facts.append(threads[1])
    return Finding(
        "memory-refused",
        Strength.SUPPORTED,
        f"memory was refused under a limit of {size(bound)}, and the process ended on {evidence.exit_signal}",
        tuple(facts),
        (Fact("nothing was printed that names memory", "output.log"),),
        _REMEDIES,
    )


def _limits(evidence: Evidence) -> list[Fact]:
    machine = evidence.last(ev.MachineRead)
    if machine is None:
        return []
    return [
        Fact(f"RLIMIT_{name.upper()} is {size(value)}", machine.source)
        for name in ("as", "data")
        if (value := machine.event.rlimits.get(name))
    ]


_REMEDIES = (
    Remedy("a smaller batch or smaller images: the tensor that was refused shrinks with both", "your-choice"),
    Remedy(
        "lift the limit, if it was set on purpose for something else: `ulimit -v unlimited`", "your-choice"
    ),
)
