"""Processes of a group that train together: how many batches each has, and whether they are a group at all."""

from __future__ import annotations

import re
from itertools import combinations
from typing import NamedTuple

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.stacks import ThreadState
from holdfast.explain.readings.workers import workers_gone
from holdfast.journal import events as ev

#: Threads by which a library keeps the group together.
_GROUP_THREADS = re.compile(r"gloo|nccl|tcpstore|c10d", re.IGNORECASE)
_GROUP_FILES = ("torch/distributed/", "horovod/", "jax/_src/distributed.py", "collective_all_reduce_strategy")


class Rank(NamedTuple):
    pid: int
    passes: tuple[int, ...]  # steps of each whole pass over its data
    lengths: dict[str, int]  # batches of what it trains on, by the line of the loop
    source: str


def ranks(evidence: Evidence) -> list[Rank]:
    """The processes in which training was seen."""
    trains = {one.pid for kind in (ev.LoopSeen, ev.FitStarted) for one in evidence.all(kind)}
    return [_rank(evidence, pid) for pid in sorted(trains)]


def _rank(evidence: Evidence, pid: int) -> Rank:
    done = [one for one in evidence.all(ev.PassDone) if one.pid == pid]
    epochs = [one for one in evidence.all(ev.EpochDone) if one.pid == pid]
    seen = [one for one in evidence.all(ev.DatasetSeen) if one.pid == pid and one.event.role == "train"]
    lengths: dict[str, int] = {}
    for one in seen:
        if (one.event.cardinality or 0) > 0:
            lengths.setdefault(one.event.where, one.event.cardinality or 0)
    sources = [*(one.source for one in done), *(one.source for one in epochs), *(one.source for one in seen)]
    source = sources[-1] if sources else "journal.jsonl"
    passes = [one.event.steps for one in done] or [one.event.steps for one in epochs]
    return Rank(pid, tuple(passes), lengths, source)


def uneven(evidence: Evidence) -> Fact | None:
    """Two processes whose passes, or whose data for the same loop, have different numbers of batches."""
    for one, other in combinations(ranks(evidence), 2):
        pairs = list(zip(one.passes, other.passes, strict=False))
        if not pairs:
            pairs = [
                (one.lengths[line], other.lengths[line]) for line in one.lengths if line in other.lengths
            ]
        differ = [pair for pair in pairs if pair[0] != pair[1]]
        if differ:
            batches = {str(one.pid): differ[0][0], str(other.pid): differ[0][1]}
            return Fact("group.batches", {"by_process": batches}, one.source)
    return None


def even(evidence: Evidence) -> bool:
    """Whether it is known that all have the same number."""
    known = [one for one in ranks(evidence) if one.passes or one.lengths]
    return len(known) > 1 and uneven(evidence) is None


def is_group(evidence: Evidence) -> bool:
    """By the stacks: processes of this run wait for each other, and do not merely run side by side."""
    stacks = evidence.stacks
    if evidence.stall is None or stacks is None:
        return False
    return any(_of_group(thread) for one in (stacks.process, *stacks.others) for thread in one.threads)


def _of_group(thread: ThreadState) -> bool:
    return _GROUP_THREADS.search(thread.name) is not None or thread.within(*_GROUP_FILES) is not None


def one_was_killed(evidence: Evidence) -> bool:
    """A process of the run ended by a signal: what the others miss is explained by that. Launchers send SIGTERM."""
    return any(
        one.event.oom_kills_rose
        or (one.event.last_state.startswith("SIG") and one.event.last_state != "SIGTERM")
        for one in workers_gone(evidence)
    )
