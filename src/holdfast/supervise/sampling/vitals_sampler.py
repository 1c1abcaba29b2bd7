"""One sample of the training process, its relatives and the machine.

Cheap values are read every time; threads, pressure and open files every fifth time or when something looks wrong; the
proportional share of memory (PSS), whose reading pauses the process, every half minute at most.
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
from holdfast.host.threads import BackgroundCall, PeriodicReader
from holdfast.journal.beats import Beat
from holdfast.journal.vitals import Process, Sample
from holdfast.supervise.recording.output_follower import PrintedPosition
from holdfast.supervise.sampling.mapped_files import MappedFiles
from holdfast.supervise.stack_capture import syscalls

_DETAIL_EVERY = 5
_SLOW_EVERY_S = 5.0
_PSS_EVERY_S = 30.0
_PSS_SHARE = 0.001  # of the time at most, since the process is paused meanwhile
_BUSY_SHARE = 0.2  # of a core, from which a thread counts as busy
_MAX_PROCESSES = 64  # in a sample
_EARLY = 15  # samples in which a command may still move to a control group of its own


@dataclass(slots=True)
class ProcessTotals:
    """Over all processes that there have been."""

    cpu_s: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0


class Sampler:
    """Samples one attempt. `root` is the command's own process, `trainer` the one below it that trains, where that is
    known without heartbeats."""

    def __init__(
        self,
        root: int,
        *,
        attempt: int,
        paths: Mapping[str, Path],
        gpus: GpuReader,
        trainer: int | None = None,
    ) -> None:
        self.root = root
        self._trainer = root if trainer is None else trainer
        self.pids: list[int] = [root]
        self.seen: dict[int, Stat] = {}
        self.group = cgroup.find(root)
        self._attempt = attempt
        self._paths = dict(paths)
        self._gpus = gpus
        self._count = 0
        self._pss: int | None = None
        self._pss_due = 0.0
        self._thread_cpu: dict[int, float] = {}
        self._thread_cpu_at = 0.0
        self.totals = ProcessTotals()
        self.mapped = MappedFiles()
        self._io: dict[int, tuple[int, int]] = {}
        self._slow = PeriodicReader(self._read_slow, self._read_disks(), every_s=_SLOW_EVERY_S)

    def add_path(self, what: str, path: Path) -> None:
        self._paths[what] = path

    def close(self) -> None:
        self._slow.stop()

    def trainer(self, beat: Beat | None) -> int:
        """The process that writes beats, else the one that was named, else the command's own."""
        wanted = beat.pid if beat is not None and beat.pid in self.seen else self._trainer
        return wanted if wanted in self.seen else self.root

    def read_gpus(self, *, timeout_s: float) -> list[dict[str, Any]]:
        """At once, for somebody who has no time to wait for the next slow reading; a driver may not answer."""
        if not self._gpus.present:
            return []
        call = BackgroundCall(lambda: self._gpus.sample(set(self.pids)))
        gpus = call.result or [] if call.wait(timeout_s) else []
        self._slow.latest = {**self._slow.latest, "gpus": gpus}
        return gpus

    def sample(
        self,
        *,
        now: float,
        at: float,
        beat: Beat | None,
        output_bytes: int,
        step_s: float | None,
        in_detail: bool,
        printed: PrintedPosition | None = None,
    ) -> Sample | None:
        """None when the command has gone."""
        # The companion of a notebook is a child of the process that it watches.
        self.pids = [self.root, *procfs.descendants(self.root, without=os.getpid())]
        stats = {pid: stat for pid in self.pids if (stat := procfs.stat(pid)) is not None}
        self._add_up(stats)
        self.seen = stats
        # A zombie has no memory, and no control group.
        if self.root not in stats or stats[self.root].state in "ZX":
            return None
        main = self.trainer(beat)
        self.mapped.look(main, stats[main].virtual_bytes)
        values: dict[str, Any] = {
            **_process_fields(stats[main]),
            **self._machine_fields(),
            **_beat_fields(beat, now),
        }
        if in_detail or self._count % _DETAIL_EVERY == 0:
            values |= self._thread_fields(main, now) | {
                "pressure": machine_limits.pressure(),
                "load1": _load1(),
            }
            values["open_files"] = procfs.open_files(main)
        if in_detail or self._count % _DETAIL_EVERY == 0 or self._count < _EARLY:
            self._find_group(main)
        self._count += 1
        values["pss_bytes"] = self._pss_bytes(main, now)
        return Sample(
            at=at,
            mono=now,
            attempt=self._attempt,
            output_bytes=output_bytes,
            step_s=step_s,
            processes=[_process_sample(stat) for pid, stat in stats.items() if pid != main][:_MAX_PROCESSES],
            tree_rss_bytes=sum(stat.rss_bytes for stat in stats.values()),
            printed=printed.as_json() if printed is not None else {},
            **values,
        )

    def _find_group(self, pid: int) -> None:
        """A process that is ending is moved to the root group, which does not count its kills: ignore that one."""
        group = cgroup.find(pid)
        if group.memory is not None and group.memory.path != group.memory.mount:
            self.group = group

    def _add_up(self, stats: dict[int, Stat]) -> None:
        """Adds what each process has used since the last sample, so that the totals never fall when one ends."""
        io = {pid: _io_bytes(pid) for pid in list(stats)[:_MAX_PROCESSES]}
        for pid, stat in stats.items():
            before = self.seen.get(pid)
            self.totals.cpu_s += max(0.0, stat.cpu_s - (before.cpu_s if before is not None else 0.0))
            read, written = io.get(pid, (0, 0))
            read_before, written_before = self._io.get(pid, (0, 0))
            self.totals.read_bytes += max(0, read - read_before)
            self.totals.written_bytes += max(0, written - written_before)
        self._io = io

    def _machine_fields(self) -> dict[str, Any]:
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

    def _thread_fields(self, pid: int, now: float) -> dict[str, Any]:
        states: dict[str, int] = {}
        waiting: dict[str, int] = {}
        cpu: dict[int, float] = {}
        for thread in procfs.threads(pid):
            stat = procfs.stat(pid, thread)
            if stat is None:
                continue
            states[stat.state] = states.get(stat.state, 0) + 1
            cpu[thread] = stat.cpu_s
            if stat.state != "R":
                channel = syscalls.channel(pid, thread)
                waiting[channel] = waiting.get(channel, 0) + 1
        passed_s = now - self._thread_cpu_at
        busy = sum(1 for tid, s in cpu.items() if s - self._thread_cpu.get(tid, s) > _BUSY_SHARE * passed_s)
        known = bool(self._thread_cpu)
        self._thread_cpu, self._thread_cpu_at = cpu, now
        return {"thread_states": states, "waits": waiting, "busy_threads": busy if known else None}

    def _pss_bytes(self, pid: int, now: float) -> int | None:
        if now < self._pss_due:
            return None
        started = time.perf_counter()
        pss_bytes = procfs.memory_parts(pid).get("Pss")
        took_s = time.perf_counter() - started
        self._pss_due = now + max(_PSS_EVERY_S, took_s / _PSS_SHARE)
        return pss_bytes

    def _read_disks(self) -> dict[str, Any]:
        disks = machine_limits.disks(dict(self._paths))
        return {"disks_free_bytes": {disk["what"]: disk["free_bytes"] for disk in disks}}

    def _read_slow(self) -> dict[str, Any]:
        swapped_in = procfs.keyed(procfs.read("/proc/vmstat")).get("pswpin")
        gpus = self._gpus.sample(set(self.pids)) if self._gpus.present else []
        return {**self._read_disks(), "gpus": gpus, "swap_in_pages": swapped_in}


def _process_fields(stat: Stat) -> dict[str, Any]:
    status = procfs.status(stat.pid)
    io = procfs.io(stat.pid)
    return {
        "pid": stat.pid,
        "state": stat.state,
        "rss_bytes": stat.rss_bytes,
        "shared_bytes": status.get("RssFile", 0) + status.get("RssShmem", 0) if "RssFile" in status else None,
        "swap_bytes": status.get("VmSwap"),
        "virtual_bytes": stat.virtual_bytes,
        "cpu_s": stat.cpu_s,
        "system_s": stat.system_s,
        "read_bytes": io.get("rchar"),
        "disk_read_bytes": io.get("read_bytes"),
        "written_bytes": io.get("wchar"),
        "major_faults": stat.major_faults,
        "threads": stat.threads,
    }


def _beat_fields(beat: Beat | None, now: float) -> dict[str, Any]:
    if beat is None:
        return {}
    return {
        "phase": beat.phase.label,
        "beat_age_s": round(max(0.0, now - beat.mono), 3),
        "fit": beat.fit,
        "epoch": beat.epoch,
        "step": beat.step,
        "train_batches": beat.train_batches,
        "test_batches": beat.test_batches,
        "data_wait_s": beat.data_wait_ns / 1e9,
        "compute_s": beat.compute_ns / 1e9,
        "loss": beat.loss if beat.has_loss else None,
    }


def _process_sample(stat: Stat) -> Process:
    return Process(
        pid=stat.pid,
        parent=stat.parent,
        name=stat.name,
        state=stat.state,
        rss_bytes=stat.rss_bytes,
        private_bytes=_anonymous_bytes(stat.pid),
        cpu_s=stat.cpu_s,
        threads=stat.threads,
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
