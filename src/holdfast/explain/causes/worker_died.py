"""A loader process died and the main process waits for it."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.grounds import matched
from holdfast.explain.words import size, span
from holdfast.journal import events as ev


def worker_died(evidence: Evidence) -> Finding | None:
    gone = evidence.all(ev.WorkerGone)
    said = matched(
        evidence,
        r"worker.*(died|killed|exited) unexpectedly|BrokenProcessPool|A process in the process pool was "
        r"terminated|DataLoader worker .*(killed|exited)",
    )
    if said is None and (not gone or evidence.stall is None):
        return None
    if said is None and evidence.phase in ("exit", "after"):
        return None
    facts = [said[1]] if said is not None else []
    before = [one for one in gone if evidence.stall is None or one.mono <= evidence.stall.mono + 5]
    standing = evidence.standing
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
        facts.append(
            Fact(
                f"process {event.worker_pid} ({event.name or event.command or 'a loader'}) ended after "
                f"{span(event.lived_s)}{last}{killed}",
                one.source,
            )
        )
    if said is None and not before:
        return None
    if evidence.stall is not None:
        facts.append(
            Fact(
                f"since then the main process has not moved for {span(evidence.stall.event.silent_for_s)}",
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
        (
            Remedy(
                "fewer workers, or threads, which cannot die alone",
                "your-choice",
                "keras.utils.PyDataset(workers=1, use_multiprocessing=False)",
            ),
            Remedy(
                "a pool that tells: concurrent.futures.ProcessPoolExecutor raises BrokenProcessPool",
                "your-choice",
            ),
        ),
    )


PAGE = """\
What it is
  A process of a `multiprocessing.Pool` was killed (for memory, by a person,
  by a crash in native code). The pool starts another and forgets the task,
  so the main process waits for a result that never comes. The number of
  processes looks right.

How Holdfast knows
  The supervisor saw a descendant go while the main process lived, and
  nothing moved afterwards; whether the kernel killed it for memory is known
  from its counter.

How to make it happen
  `PyDataset(workers=2, use_multiprocessing=True)` and `kill -9` of one
  worker.

How to cure it
  Fewer processes, threads, or tf.data; a ProcessPoolExecutor notices.

When Holdfast would be wrong
  If the process that went had nothing to do with loading, and the stall has
  another reason.
"""
