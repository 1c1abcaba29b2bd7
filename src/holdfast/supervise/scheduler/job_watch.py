"""Records the scheduler's job that a run belongs to, and asks the scheduler why when SIGTERM comes.

`scontrol` may take seconds when its controller is busy, so it is asked in a thread; the run does not wait for it until
its end. In a group only the coordinator asks: a thousand nodes that ask at once would stop a controller.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from holdfast.host.cache_folder import cache_folder
from holdfast.journal import reader, vitals
from holdfast.journal.events import AttemptEnded, Event, JobStarted, SchedulerAnswered
from holdfast.journal.folder import RunFolder
from holdfast.journal.reader import Entry
from holdfast.journal.writer import JournalWriter
from holdfast.supervise.scheduler import pod, slurm

_WAIT_S = 8.0


class JobWatch:
    """`attempt` says which one is running. Outside of a job nothing is recorded."""

    def __init__(
        self, folder: RunFolder, *, attempt: Callable[[], int], environment: Mapping[str, str] = os.environ
    ) -> None:
        self._folder, self._attempt, self._environment = folder, attempt, environment
        self._threads: list[threading.Thread] = []
        self._asked = False
        self.is_job = slurm.JOB_VARIABLE in environment or pod.SERVICE_VARIABLE in environment

    def begin(self) -> None:
        self._in_background(self._record_start)

    def asked_to_end(self) -> None:
        """May be called by a signal handler, and more than once."""
        if not self._asked:
            self._asked = True
            self._in_background(self._record_answer)

    def close(self) -> None:
        until = time.monotonic() + _WAIT_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _in_background(self, record: Callable[[], None]) -> None:
        if self.is_job:
            self._threads.append(threading.Thread(target=record, name="scheduler", daemon=True))
            self._threads[-1].start()

    # -- in a thread ----------------------------------------------------------------------------------

    def _record_start(self) -> None:
        environment, attempt = self._environment, self._attempt()
        began = slurm.started(environment) or pod.started(environment)
        if began is None:
            return
        before = last_start(self._entries())
        if before is not None and before.attempt < attempt:
            answer = self._ended_before(began, before)
            if answer is not None:
                self._append(answer, before.attempt)
        self._append(began, attempt)

    def _ended_before(self, began: JobStarted, before: Entry) -> SchedulerAnswered | None:
        earlier = before.event
        if not isinstance(earlier, JobStarted) or earlier.scheduler != began.scheduler:
            return None
        if began.scheduler == "slurm":
            return slurm.ended_before(began.job, earlier.nodes) if began.job == earlier.job else None
        samples = [one for _, one in vitals.read(self._folder.vitals) if one.attempt >= before.attempt]
        return pod.ended_before(began, earlier, samples[-1] if samples else None)

    def _record_answer(self) -> None:
        answer = slurm.asked_to_end(self._environment, now=time.time()) or pod.asked_to_end(
            self._environment,
            available_bytes=pod.available_bytes(),
            low_disks=pod.low_disks()
            + pod.over_limit(self._environment, (self._folder.path, cache_folder())),
        )
        if answer is not None:
            if answer.why == "evicted":  # it may leave a second, which no verdict is made in
                pod.write_message(
                    f"evicted: {answer.state}\nrun folder: {self._folder.path}", self._environment
                )
            self._append(answer, self._attempt())

    def _entries(self) -> list[Entry]:
        try:
            return list(reader.read(self._folder.journal))
        except OSError:
            return []

    def _append(self, event: Event, attempt: int) -> None:
        append(self._folder, event, attempt)


def ask_about(folder: RunFolder) -> None:
    """For a run that stopped without an end: when its scheduler knows that a node of it is lost, that is recorded.

    For whoever explains a job that waits in the queue again, on a machine where the scheduler's commands are.
    """
    try:
        before = last_start(list(reader.read(folder.journal)))
    except OSError:
        return
    if before is None or not isinstance(before.event, JobStarted) or before.event.scheduler != "slurm":
        return
    answer = slurm.ended_before(before.event.job, before.event.nodes)
    if answer is not None:
        append(folder, answer, before.attempt)


def append(folder: RunFolder, event: Event, attempt: int) -> None:
    with contextlib.suppress(OSError):  # a full disk is reported by those who watch it
        writer = JournalWriter(folder.journal, by="scheduler", attempt=attempt)
        writer.append(event)
        writer.close()


def last_start(entries: list[Entry]) -> Entry | None:
    """The last start of the job, where nothing was recorded of its end: neither an answer nor an end by itself."""
    starts = [number for number, entry in enumerate(entries) if isinstance(entry.event, JobStarted)]
    if not starts:
        return None
    since = entries[starts[-1] :]
    if any(isinstance(one.event, SchedulerAnswered) for one in since):
        return None
    number = max(one.attempt for one in since)
    ended = any(isinstance(one.event, AttemptEnded) and one.attempt == number for one in since)
    return None if ended else replace(since[0], attempt=number)
