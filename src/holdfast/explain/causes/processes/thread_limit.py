"""No further thread or process may be started."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched
from holdfast.journal import events as ev


@cause(
    "thread-limit",
    Group.PROCESSES,
    specialises=(
        "script-error",
        "native-crash",
    ),
)
def thread_limit(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence,
        r"pthread_create\(?\)? failed|can't start new thread|Thread \S+ creation via pthread_create|(fork|"
        r"clone).*Resource temporarily unavailable|Resource temporarily unavailable.*(fork|thread)|"
        r"BlockingIOError.*fork",
    )
    ended = evidence.ended.event if evidence.ended is not None else None
    rose = (
        ended is not None
        and ended.pids_refused_before is not None
        and (ended.pids_refused_after or 0) > ended.pids_refused_before
    )
    if not evidence.went_wrong or (said is None and not (rose and evidence.crashed)):
        return None
    machine = evidence.last(ev.MachineRead)
    limits = machine.event.rlimits if machine is not None else {}
    facts = [said[1]] if said is not None else []
    if rose:
        facts.append(Fact("the kernel's counter of refused processes and threads rose", evidence.exit_source))
    if machine is not None and machine.event.pids_limit:
        facts.append(
            Fact(f"the limit of processes and threads is {machine.event.pids_limit}", machine.source)
        )
    if machine is not None and limits.get("nproc"):
        facts.append(Fact(f"ulimit -u is {limits['nproc']}", machine.source))
    counts = [s.threads + sum(p.threads for p in s.processes) for _, s in evidence.samples[-1:]]
    facts += (
        [Fact(f"{counts[0]} threads when last counted", f"vitals.jsonl:{evidence.samples[-1][0]}")]
        if counts
        else []
    )
    bounded = bool(limits.get("as") or limits.get("data"))
    if bounded and not rose:
        return Finding(
            "thread-limit",
            Strength.POSSIBLE,
            "a thread could not be started",
            tuple(facts),
            (
                Fact(
                    "a limit on address space is set, and refuses a thread's stack in the same words",
                    machine.source if machine is not None else "",
                ),
            ),
            _REMEDIES,
        )
    return Finding(
        "thread-limit",
        Strength.ESTABLISHED if rose or said is not None else Strength.SUPPORTED,
        "no further thread may be started: the limit of threads is reached",
        tuple(facts),
        (),
        _REMEDIES,
    )


_REMEDIES = (
    Remedy(
        "raise the limit: `ulimit -u`, or the container's pids limit",
        "your-choice",
        "docker run --pids-limit=4096 …",
    ),
    Remedy(
        "fewer threads and workers", "your-choice", "tf.config.threading.set_inter_op_parallelism_threads(2)"
    ),
)
