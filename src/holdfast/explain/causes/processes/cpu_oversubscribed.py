"""Many more threads want to run than there are cores."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numbers import median
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import counted
from holdfast.journal import events as ev


@cause("cpu-oversubscribed", Group.PROCESSES)
def cpu_oversubscribed(evidence: Evidence) -> Finding | None:
    cores = evidence.opened.event.cpus if evidence.opened is not None else 0
    training = [
        (line, s)
        for line, s in evidence.samples
        if s.step > 0 or s.phase in ("fill", "data-wait", "step", "compile")
    ]
    if not cores or len(training) < 5:
        return None
    running = [
        s.thread_states.get("R", 0) + sum(1 for p in s.processes if p.state == "R")
        for _, s in training
        if s.thread_states or s.processes
    ]
    wanted = median(running) if running else 0
    busy_children = [sum(1 for p in s.processes if p.state == "R") for _, s in training]
    pressed = median([s.pressure.get("cpu.some", 0.0) for _, s in training if s.pressure] or [0.0])
    load = median([s.load1 for _, s in training if s.load1 is not None] or [0.0])
    first, last = training[0], training[-1]
    if last[1].mono - first[1].mono < 5 or wanted < 2.5 * cores or median(busy_children) < 1.5 * cores:
        return None
    source = f"vitals.jsonl:{first[0]}-{last[0]}"
    facts = [
        Fact(
            f"{wanted:.0f} threads and processes of this run want to run at once, on {counted(cores, 'core')}",
            source,
        )
    ]
    facts += [Fact(f"tasks waited for a core {pressed:.0f} % of the time", source)] if pressed > 20 else []
    facts += [Fact(f"the load is {load:.0f}", source)] if load else []
    started = evidence.last(ev.WorkersStarted)
    facts += (
        [
            Fact(
                f"{started.event.by} started {started.event.count}"
                + (f" at {started.event.where}" if started.event.where else ""),
                started.source,
            )
        ]
        if started is not None
        else []
    )
    return Finding(
        "cpu-oversubscribed",
        Strength.SUPPORTED if wanted >= 3 * cores or pressed > 50 else Strength.POSSIBLE,
        f"{wanted:.0f} runnable threads share {counted(cores, 'core')}",
        tuple(facts),
        (),
        (
            Remedy(
                f"as many workers as cores: {cores} here, and one thread in each",
                "your-choice",
                "OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1",
            ),
        ),
        ends=False,
    )
