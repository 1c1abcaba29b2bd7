"""Processes and threads that a script started to load data, and how they ended."""

from __future__ import annotations

from dataclasses import replace

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.error import exception_of
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev
from holdfast.printed.tracebacks import tracebacks

_IN_THREAD = "Exception in thread"  # in front of the traceback that ended a thread


def workers_started(evidence: Evidence) -> tuple[Fact, ...]:
    started = evidence.last(ev.WorkersStarted)
    if started is None:
        return ()
    event = started.event
    values = {"by": event.by, "method": event.method, "count": event.count, "where": event.where}
    return (started.fact("workers.started", **values, after_framework=bool(event.after_framework)),)


def has_loader(evidence: Evidence) -> bool:
    """Whether processes load its data."""
    return bool(evidence.dataset().multiprocessing) or evidence.last(ev.WorkersStarted) is not None


def workers_gone(evidence: Evidence) -> list[Recorded[ev.WorkerGone]]:
    """Each process once. The supervisor and the parent may both report it: the parent knows how it ended."""
    found: dict[int, Recorded[ev.WorkerGone]] = {}
    for gone in evidence.all(ev.WorkerGone):
        reports = [one for one in (found.get(gone.event.worker_pid), gone) if one is not None]
        by_parent = next((one for one in reports if one.by != "supervisor"), gone)
        measured = next((one for one in reports if one.by == "supervisor"), gone)
        event = measured.event.changed(
            last_state=by_parent.event.last_state,
            oom_kills_rose=any(one.event.oom_kills_rose for one in reports),
        )
        found[gone.event.worker_pid] = replace(by_parent, event=event)
    return sorted(found.values(), key=lambda gone: gone.mono)


def has_finished(evidence: Evidence, event: ev.WorkerGone) -> bool:
    """It did all that it had to do: exit code 0, and not by a call of os._exit in the middle of its work."""
    left = any(one.event.worker_pid == event.worker_pid for one in evidence.all(ev.WorkerExitCalled))
    return event.last_state == "exit code 0" and not event.oom_kills_rose and not left


def workers_finished(evidence: Evidence) -> list[Fact]:
    return [worker_ended(one) for one in workers_gone(evidence) if has_finished(evidence, one.event)]


def worker_ended(gone: Recorded[ev.WorkerGone]) -> Fact:
    event = gone.event
    return gone.fact(
        "worker.ended",
        pid=event.worker_pid,
        name=event.name or event.command,
        ended_with=event.last_state if event.last_state.startswith(("SIG", "exit")) else "",
        lived_s=event.lived_s or None,
        rss_bytes=event.rss_bytes or None,
        oom_kills_rose=event.oom_kills_rose,
    )


def thread_raised(evidence: Evidence) -> list[Fact]:
    """Threads that an exception ended, oldest first: as the probe saw them, else as Python printed them."""
    if evidence.probed:
        raised = [one for one in evidence.all(ev.ExceptionRaised) if one.event.left == "thread"]
        return [_thread_raised(one.event, one.source) for one in raised]
    lines = evidence.output.lines
    printed = tracebacks([line.text for line in lines])
    ended = [one for one in printed if one.start and lines[one.start - 1].text.startswith(_IN_THREAD)]
    return [_thread_raised(exception_of(one), lines[one.at].source) for one in ended]


def _thread_raised(event: ev.ExceptionRaised, source: str) -> Fact:
    line = {"where": event.user_line, "code": event.user_code}
    return Fact("thread.raised", {"error": event.type, "message": event.message, **line}, source)
