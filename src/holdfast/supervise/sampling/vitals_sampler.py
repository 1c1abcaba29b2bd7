"""One sample of the process that trains, its relatives and the machine.

What is cheap is read every time; threads, pressure and open files every fifth time or when something looks
wrong; the proportional share of memory, whose reading holds up the process, every half minute at most.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.host import cgroup, machine_limits, procfs
from holdfast.host.nvml import GpuReader
from holdfast.host.procfs import Stat
from holdfast.host.threads import PeriodicReader
from holdfast.journal.beats import Beat
from holdfast.journal.vitals import Process, Sample
from holdfast.supervise.stack_capture import syscalls

_DETAIL_EVERY = 5
_SLOW_EVERY_S = 5.0
_PSS_EVERY_S = 30.0
_PSS_SHARE = 0.001  # of the time at most, since the process waits meanwhile
_BUSY_SHARE = 0.2  # of a core, from which a thread counts as busy
_LISTED = 64  # processes in a sample
_EARLY = 15  # samples in which a command may still move to a control group of its own


@dataclass(slots=True)
class ProcessTotals:
    """Over all processes there have been."""

    cpu_s: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0


class Sampler:
    """Samples one attempt. `root` is the command's own process."""

    def __init__(self, root: int, *, attempt: int, places: Mapping[str, Path], cards: GpuReader) -> None:
        self.root = root
        self.pids: list[int] = [root]
        self.seen: dict[int, Stat] = {}
        self.group = cgroup.find(root)
        self._attempt = attempt
        self._places = dict(places)
        self._cards = cards
        self._count = 0
        self._pss: int | None = None
        self._pss_due = 0.0
        self._thread_cpu: dict[int, float] = {}
        self._thread_cpu_at = 0.0
        self.sums = ProcessTotals()
        self._io: dict[int, tuple[int, int]] = {}
        self._slow = PeriodicReader(self._read_slow, self._read_disks(), every_s=_SLOW_EVERY_S)

    def add_place(self, what: str, path: Path) -> None:
        self._places[what] = path

    def close(self) -> None:
        self._slow.stop()

    def sample(
        self,
        *,
        now: float,
        at: float,
        beat: Beat | None,
        output_bytes: int,
        step_s: float | None,
        closely: bool,
    ) -> Sample | None:
        """None when the command has gone."""
        # beside a process we are a child of it
        self.pids = [self.root, *procfs.descendants(self.root, without=os.getpid())]
        stats = {pid: one for pid in self.pids if (one := procfs.stat(pid)) is not None}
        self._add_up(stats)
        self.seen = stats
        if (
            self.root not in stats or stats[self.root].state in "ZX"
        ):  # a zombie has no memory, and no control group
            return None
        main = beat.pid if beat is not None and beat.pid in stats else self.root
        values: dict[str, Any] = {
            **_process_fields(stats[main]),
            **self._of_machine(),
            **_beat_fields(beat, now),
        }
        if closely or self._count % _DETAIL_EVERY == 0:
            values |= self._of_threads(main, now) | {"pressure": machine_limits.pressure(), "load1": _load1()}
            values["open_files"] = procfs.open_files(main)
        if closely or self._count % _DETAIL_EVERY == 0 or self._count < _EARLY:
            self._find_group(main)
        self._count += 1
        values["pss_bytes"] = self._share(main, now)
        return Sample(
            at=at,
            mono=now,
            attempt=self._attempt,
            output_bytes=output_bytes,
            step_s=step_s,
            processes=[_process_sample(one) for pid, one in stats.items() if pid != main][:_LISTED],
            tree_rss_bytes=sum(one.rss_bytes for one in stats.values()),
            **values,
        )

    def _find_group(self, pid: int) -> None:
        """A process that is ending is moved to the root group, which does not count its kills: ignore that one."""
        group = cgroup.find(pid)
        if group.memory is not None and group.memory.path != group.memory.mount:
            self.group = group

    def _add_up(self, stats: dict[int, Stat]) -> None:
        """Adds what each process has used since the last look, so that the sums never fall when one ends."""
        io = {pid: _io_bytes(pid) for pid in list(stats)[:_LISTED]}
        for pid, one in stats.items():
            before = self.seen.get(pid)
            self.sums.cpu_s += max(0.0, one.cpu_s - (before.cpu_s if before is not None else 0.0))
            read, written = io.get(pid, (0, 0))
            read_before, written_before = self._io.get(pid, (0, 0))
            self.sums.read_bytes += max(0, read - read_before)
            self.sums.written_bytes += max(0, written - written_before)
        self._io = io

    def _of_machine(self) -> dict[str, Any]:
        state = cgroup.read(self.group)
        memory = procfs.keyed(procfs.read("/proc/meminfo"))
        slow = self._slow.latest
        return {
            "memory_used_bytes": state.memory_used_bytes,
            "memory_limit_bytes": state.memory_limit_bytes,
            "memory_available_bytes": memory.get("MemAvailable"),
            "oom_kills": state.oom_kills,
            "pids_refused": state.pids_refused,
            **slow,
        }

    def _of_threads(self, pid: int, now: float) -> dict[str, Any]:
        states: dict[str, int] = {}
        waiting: dict[str, int] = {}
        cpu: dict[int, float] = {}
        for thread in procfs.threads(pid):
            one = procfs.stat(pid, thread)
            if one is None:
                continue
            states[one.state] = states.get(one.state, 0) + 1
            cpu[thread] = one.cpu_s
            if one.state != "R":
                word = syscalls.channel(pid, thread)
                waiting[word] = waiting.get(word, 0) + 1
        passed_s = now - self._thread_cpu_at
        busy = sum(1 for tid, s in cpu.items() if s - self._thread_cpu.get(tid, s) > _BUSY_SHARE * passed_s)
        known = bool(self._thread_cpu)
        self._thread_cpu, self._thread_cpu_at = cpu, now
        return {"thread_states": states, "waits": waiting, "busy_threads": busy if known else None}

    def _share(self, pid: int, now: float) -> int | None:
        if now < self._pss_due:
            return None
        began = time.perf_counter()
        share = procfs.memory_parts(pid).get("Pss")
        took_s = time.perf_counter() - began
        self._pss_due = now + max(_PSS_EVERY_S, took_s / _PSS_SHARE)
        return share

    def _read_disks(self) -> dict[str, Any]:
        return {
            "disks_free_bytes": {
                one["what"]: one["free_bytes"] for one in machine_limits.disks(dict(self._places))
            }
        }

    def _read_slow(self) -> dict[str, Any]:
        swapped_in = procfs.keyed(procfs.read("/proc/vmstat")).get("pswpin")
        gpus = self._cards.sample(set(self.pids)) if self._cards.present else []
        return {**self._read_disks(), "gpus": gpus, "swap_in_pages": swapped_in}


def _process_fields(one: Stat) -> dict[str, Any]:
    status = procfs.status(one.pid)
    io = procfs.io(one.pid)
    return {
        "pid": one.pid,
        "state": one.state,
        "rss_bytes": one.rss_bytes,
        "shared_bytes": status.get("RssFile", 0) + status.get("RssShmem", 0) if "RssFile" in status else None,
        "swap_bytes": status.get("VmSwap"),
        "virtual_bytes": one.virtual_bytes,
        "cpu_s": one.cpu_s,
        "system_s": one.system_s,
        "read_bytes": io.get("rchar"),
        "disk_read_bytes": io.get("read_bytes"),
        "written_bytes": io.get("wchar"),
        "major_faults": one.major_faults,
        "threads": one.threads,
    }


def _beat_fields(beat: Beat | None, now: float) -> dict[str, Any]:
    if beat is None:
        return {}
    return {
        "phase": beat.phase.word,
        "beat_age_s": round(max(0.0, now - beat.mono), 3),
        "fit": beat.fit,
        "epoch": beat.epoch,
        "step": beat.step,
        "train_batches": beat.train_batches,
        "test_batches": beat.test_batches,
        "data_wait_s": beat.data_wait_ns / 1e9,
        "compute_s": beat.compute_ns / 1e9,
        "loss": beat.loss if beat.loss_known else None,
    }


def _process_sample(one: Stat) -> Process:
    return Process(
        pid=one.pid,
        parent=one.parent,
        name=one.name,
        state=one.state,
        rss_bytes=one.rss_bytes,
        private_bytes=_anonymous_bytes(one.pid),
        cpu_s=one.cpu_s,
        threads=one.threads,
    )


def _anonymous_bytes(pid: int) -> int | None:
    """Anonymous memory, the cheap stand-in for the unique share: a forked worker's own pages end up there."""
    return procfs.status(pid).get("RssAnon")


def _io_bytes(pid: int) -> tuple[int, int]:
    io = procfs.io(pid)
    return io.get("rchar", 0), io.get("wchar", 0)


def _load1() -> float | None:
    text = procfs.read("/proc/loadavg")
    return float(text.split()[0]) if text else None
