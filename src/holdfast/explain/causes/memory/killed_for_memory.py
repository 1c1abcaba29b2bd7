"""The kernel killed the process, or one of its loader processes, because memory ran out."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import near_the_limit
from holdfast.explain.unconverted import Fact, Finding, Remedy, RuledOut, Strength, at_the_end, grew
from holdfast.explain.words import clipped, size
from holdfast.journal import events as ev


@cause("killed-for-memory", Group.MEMORY, specialises=("killed-from-outside",), mechanism=True)
def killed_for_memory(evidence: Evidence) -> Finding | RuledOut | None:
    ended_so = evidence.exit_signal == "SIGKILL" and not evidence.stopped_by_us and not evidence.oom_of_others
    rose = evidence.oom_kills
    if not ended_so:
        return _of_a_worker(evidence) if (rose or 0) > 0 else None
    facts = [Fact("the process ended on SIGKILL, which a program cannot catch", evidence.exit_source)]
    logged = [line for line in evidence.kernel_log if "ill" in line]
    if rose is not None and rose > 0:
        facts.append(
            Fact(f"the kernel's out-of-memory kill counter rose by {rose} while it ran", evidence.exit_source)
        )
        strength = Strength.ESTABLISHED
    elif logged:
        strength = Strength.ESTABLISHED
    elif rose == 0:
        return RuledOut(
            "killed-for-memory", "the kernel's out-of-memory kill counter did not move", evidence.exit_source
        )
    else:
        strength = Strength.SUPPORTED if near_the_limit(evidence) else Strength.POSSIBLE
    facts += [Fact(f"kernel log: {clipped(logged[-1], 120)}", evidence.exit_source)] if logged else []
    facts += at_the_end(evidence)
    if evidence.growth.when != GrowthShape.NONE:
        facts.append(grew(evidence))
    against = (
        ()
        if strength > Strength.POSSIBLE
        else (
            Fact(
                "no kill counter could be read, and memory was not close to a limit when last measured",
                "vitals.jsonl",
            ),
        )
    )
    return Finding("killed-for-memory", strength, _title(evidence), tuple(facts), against, _REMEDIES)


def _title(evidence: Evidence) -> str:
    """Pages of libraries that others share count for the process, not for its group: then the limit alone is told."""
    peak, allowed = evidence.growth.peak_bytes, evidence.memory_limit[0] if evidence.memory_limit else None
    if allowed is not None and peak > allowed:
        return f"the kernel killed the process for memory at its limit of {size(allowed)}"
    limit = f" of {size(allowed)} allowed" if allowed is not None else ""
    return "the kernel killed the process for memory" + (f" at {size(peak)}{limit}" if peak else "")


def _of_a_worker(evidence: Evidence) -> Finding | None:
    gone = [said for said in evidence.all(ev.WorkerGone) if said.event.oom_kills_rose]
    facts = [
        Fact(
            f"the kernel's out-of-memory kill counter rose by {evidence.oom_kills} while the main process lived on",
            evidence.exit_source,
        )
    ]
    for said in gone[-2:]:
        last = f", {size(said.event.rss_bytes)} when last seen" if said.event.rss_bytes else ""
        facts.append(
            Fact(
                f"process {said.event.worker_pid} below it ({said.event.name or 'a worker'}) went then{last}",
                said.source,
            )
        )
    facts += at_the_end(evidence)
    strength = Strength.ESTABLISHED if gone else Strength.SUPPORTED
    hurt = evidence.is_stalled or evidence.went_wrong
    return Finding(
        "killed-for-memory",
        strength if hurt else Strength.POSSIBLE,
        "the kernel killed a loader process for memory; the main process was left waiting"
        if evidence.is_stalled
        else "the kernel killed a process below the training for memory",
        tuple(facts),
        remedies=_REMEDIES,
        led_to="worker-died" if gone else None,
        ends=hurt,
    )


_REMEDIES = (
    Remedy(
        "give the run more memory, or make it need less: a smaller batch, smaller images, fewer loader processes",
        "your-choice",
    ),
    Remedy("see what grew and since when in the report: `holdfast report RUN`", "automatic"),
)
