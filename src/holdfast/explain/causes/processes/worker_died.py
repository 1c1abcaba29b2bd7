"""A loader process died and the main process waits for it."""

from __future__ import annotations

from dataclasses import replace

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, lost_process, matched, users_line
from holdfast.explain.words import clipped, size, span
from holdfast.journal import events as ev
from holdfast.journal.beats import Phase


@cause(
    "worker-died",
    Group.PROCESSES,
    specialises=(
        "script-error",
        "input-blocked",
    ),
    mechanism=True,
)
def worker_died(evidence: Evidence) -> Finding | None:
    gone = _each_once(evidence)
    said = matched(
        evidence,
        r"worker.*(died|killed|exited) unexpectedly|BrokenProcessPool|A process in the process pool was "
        r"terminated|DataLoader worker .*(killed|exited)",
    )
    broken = lost_process(evidence)
    if said is None and broken is not None:
        return _pipe_broke(broken, evidence)
    if said is None and (not gone or evidence.stall is None):
        return _thread_ended(evidence)
    if said is None and evidence.phase in (Phase.EXIT, Phase.AFTER):
        return None
    facts = [said[1]] if said is not None else []
    crashes: list[Fact] = []
    before = [one for one in gone if evidence.stall is None or one.mono <= evidence.stall.mono + 5]
    standing = evidence.stacks
    lone = standing is not None and any(
        other.state != "Z"
        and len(other.threads) == 1
        and other.threads[0].on_lock
        and not other.threads[0].busy
        for other in standing.others
    )
    for one in before[-2:]:
        event = one.event
        last = f", {size(event.rss_bytes)} when last seen" if event.rss_bytes else ""
        killed = "; the kernel's kill counter rose" if event.oom_kills_rose else ""
        how = f" on {event.last_state}" if event.last_state.startswith("SIG") else ""
        how = how or (f" with {event.last_state}" if event.last_state.startswith("exit") else "")
        facts.append(
            Fact(
                f"process {event.worker_pid} ({event.name or event.command or 'a loader'}) ended{how} after "
                f"{span(event.lived_s)}{last}{killed}",
                one.source,
            )
        )
        crashes += _crash(evidence, event.worker_pid)
        crashes += _own_exit(evidence, event.worker_pid)
    facts += crashes
    if said is None and not before:
        return None
    if evidence.stall is not None:
        facts.append(
            Fact(
                f"since then the main process has not moved for {span(evidence.silent_for_s)}",
                evidence.stall.source,
            )
        )
    workers = evidence.last(ev.WorkersStarted)
    data = evidence.data()
    loader = workers is not None or (data is not None and bool(data.event.multiprocessing))
    early = bool(before) and evidence.stall is not None and evidence.stall.mono - before[-1].mono > 600
    strength = (
        Strength.ESTABLISHED if said is not None or (before and loader and not early) else Strength.SUPPORTED
    )
    strange = bool(before) and not loader and all(_is_no_loader(one.event) for one in before)
    if said is None and strange:
        strength = Strength.POSSIBLE  # a program that did its work before the training, say
    if early or (lone and not any(one.event.oom_kills_rose for one in before) and not loader):
        strength = Strength.POSSIBLE
    return Finding(
        "worker-died",
        strength,
        "a loader process died, and the main process waits for it for ever"
        if evidence.stall is not None
        else "a loader process died",
        tuple(facts),
        (),
        _remedies(evidence, bool(crashes)),
    )


def _is_no_loader(event: ev.WorkerGone) -> bool:
    """It ended well, or is another program: `tar` before the training."""
    if event.oom_kills_rose or event.last_state.startswith("SIG"):
        return False
    return event.last_state == "exit code 0" or "python" not in f"{event.name} {event.command}".lower()


def _remedies(evidence: Evidence, crashes: bool) -> tuple[Remedy, ...]:
    first = (
        Remedy("mend what crashes: in a thread it would take the whole process along", "your-choice")
        if crashes
        else Remedy(
            "fewer workers, or threads, which cannot die alone",
            "your-choice",
            "keras.utils.PyDataset(workers=1, use_multiprocessing=False)",
        )
    )
    if evidence.error is not None and "BrokenProcessPool" in evidence.error.text:
        return (first,)
    tells = "a pool that tells: concurrent.futures.ProcessPoolExecutor raises BrokenProcessPool"
    return (first, Remedy(tells, "your-choice"))


def _each_once(evidence: Evidence) -> list[Recorded[ev.WorkerGone]]:
    """The supervisor and its parent may both miss a process: the parent knows how it ended."""
    found: dict[int, Recorded[ev.WorkerGone]] = {}
    for said in evidence.all(ev.WorkerGone):
        before = found.get(said.event.worker_pid)
        told = [one for one in (before, said) if one is not None]
        knows = next((one for one in told if one.by != "supervisor"), said)
        seen = next((one for one in told if one.by == "supervisor"), said)
        event = seen.event.changed(
            last_state=knows.event.last_state,
            oom_kills_rose=any(one.event.oom_kills_rose for one in told),
        )
        found[said.event.worker_pid] = replace(knows, event=event)
    return sorted(found.values(), key=lambda said: said.mono)


def _own_exit(evidence: Evidence, pid: int) -> list[Fact]:
    """The line at which the worker ended itself."""
    for said in reversed(evidence.all(ev.WorkerExitCalled)):
        if said.event.worker_pid == pid:
            return [Fact(f"it ended itself by os._exit at {said.event.where}", said.source)]
    return []


def _crash(evidence: Evidence, pid: int) -> list[Fact]:
    crashes = [said for said in evidence.all(ev.WorkerCrashed) if said.event.worker_pid == pid]
    return [
        Fact(
            f"it crashed in native code ({said.event.what})"
            + (f" at {said.event.where}" if said.event.where else ""),
            said.source,
        )
        for said in crashes[:1]
    ]


def _pipe_broke(broken: Fact, evidence: Evidence) -> Finding:
    """A process went while another read from it: all that the other is told is that the line is dead."""
    gone, data = evidence.all(ev.WorkerGone), evidence.data()
    known = bool(gone) or evidence.last(ev.WorkersStarted) is not None
    loader = data is not None and bool(data.event.workers or data.event.multiprocessing)
    return Finding(
        "worker-died",
        Strength.ESTABLISHED if known or loader else Strength.SUPPORTED,
        "a loader process died while the main process read from it",
        (
            broken,
            *(
                Fact(f"process {one.event.worker_pid} ({one.event.name}) ended", one.source)
                for one in gone[-2:]
            ),
            *users_line(evidence),
        ),
        (),
        (
            Remedy(
                "see what ends the worker: load the same data without workers", "your-choice", "num_workers=0"
            ),
            Remedy("fewer workers, or smaller ones, if the machine's memory ends them", "your-choice"),
        ),
    )


def _thread_ended(evidence: Evidence) -> Finding | None:
    """A thread that filled a queue ended with an exception, and a reader waits for what it will never put there."""
    stall, standing = evidence.stall, evidence.stacks
    ended = [one for one in evidence.all(ev.ExceptionRaised) if one.event.left == "thread"]
    if not ended or stall is None or standing is None or evidence.phase in (Phase.EXIT, Phase.AFTER):
        return None
    waiting = [
        thread
        for thread in standing.python_threads
        if not thread.busy and thread.users is not None and thread.within("queue.py", "threading.py")
    ]
    if not waiting or not standing.idle or ended[-1].mono > stall.mono + 5:
        return None
    event, reader = ended[-1].event, waiting[0]
    where = f" at {event.user_line}" if event.user_line else ""
    return Finding(
        "worker-died",
        Strength.ESTABLISHED if reader.within("queue.py") else Strength.SUPPORTED,
        f"a thread ended with {event.type}{where}, and the loader waits for it for ever",
        (
            Fact(clipped(f"the thread ended with {event.type}: {event.message}", 200), ended[-1].source),
            *(
                (Fact(f"its line: `{clipped(event.user_code, 90)}`", ended[-1].source),)
                if event.user_code
                else ()
            ),
            Fact(f"a reader waits for more at {reader.where}", standing.source),
            Fact(f"nothing has moved for {span(evidence.silent_for_s)}", stall.source),
        ),
        (),
        (
            Remedy(
                f"mend {event.user_line}" if event.user_line else "mend the thread's error", "your-choice"
            ),
            Remedy(
                "hand a thread's exception on to its reader",
                "your-choice",
                "except Exception as error: queue.put(error)   # and raise it where the queue is read",
            ),
        ),
    )
