"""Loader threads wait for the disk or the network."""

import re
from typing import NamedTuple

from holdfast.explain.readings.pipeline import waits_for_data
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, facts
from holdfast.journal.vitals import Sample

_STORAGE = re.compile(
    r"rpc_|nfs|fuse|ceph|cifs|io_schedule|folio_wait|wait_on_page|blk_|request_wait|filemap|p9_|throtl"
)
#: All chosen by the test programs, which read from a throttled disk or compute in their loader.
_SAMPLES_NEEDED = 3
_TRAINED_S = 6.0
_STARVED_SHARE, _STARVED_S = 0.5, 5.0  # of the time of steps, and in all: it is short of data
_FED_SHARE = 0.3  # below it data is waited for so little that no storage slows it
_WAITING = 0.4  # share of the samples with a thread in a wait for storage
#: Less will do where the machine waits for I/O, in percent of time.
_WAITING_UNDER_PRESSURE, _PRESSURE = 0.15, 25.0
_MOSTLY_WAITING = 0.6
_IDLE_CORES = 0.7
_PRESSURE_SHOWN = 5.0


class _Look(NamedTuple):
    """What the samples of training show."""

    samples: int
    waiting: int
    pressure: float  # median percentage of the time that tasks of the machine waited for I/O
    cores: float
    read_bytes_per_s: float | None
    source: str

    @property
    def share(self) -> float:
        return self.waiting / self.samples

    @property
    def waits(self) -> bool:
        under_pressure = self.pressure > _PRESSURE and self.share > _WAITING_UNDER_PRESSURE
        return self.share >= _WAITING or under_pressure


@cause("storage-slow", specialises=("input-starved",))
def storage_slow(evidence: Evidence) -> Finding | None:
    wait, look = waits_for_data(evidence), _look(evidence)
    if look is None or not look.waits or (wait is not None and wait.share < _FED_SHARE):
        return None
    starved = wait is not None and wait.share >= _STARVED_SHARE and wait.seconds >= _STARVED_S
    if not starved and look.cores >= _IDLE_CORES:
        return None
    pressed, read = look.pressure > _PRESSURE_SHOWN, look.read_bytes_per_s
    return Finding(
        Strength.supported_if(starved or look.share > _MOSTLY_WAITING),
        Title("storage-slow", {"file": next(iter(evidence.dataset().files), "")}),
        facts(
            Fact("threads.in-storage", {"waiting": look.waiting, "samples": look.samples}, look.source),
            pressed and Fact("machine.waits-for-io", {"share": look.pressure / 100}, "vitals.jsonl"),
            wait and wait.fact,
            read is not None and Fact("storage.read", {"bytes_per_s": read}, "vitals.jsonl"),
        ),
        (Remedy("data.copy-to-local-disk"), Remedy("data.fewer-larger-files")),
        ends=False,
    )


def _waits(sample: Sample) -> bool:
    return sample.thread_states.get("D", 0) > 0 or any(_STORAGE.search(name) for name in sample.waits)


def _look(evidence: Evidence) -> _Look | None:
    phases = ("fill", "data-wait", "step")
    trained = [(line, one) for line, one in evidence.samples if one.step > 0 or one.phase in phases]
    detailed = [(line, sample) for line, sample in trained if sample.thread_states or sample.waits]
    waiting = [line for line, sample in detailed if _waits(sample)]
    if len(detailed) < _SAMPLES_NEEDED or not waiting:
        return None
    first, last = trained[0][1], trained[-1][1]
    seconds, before, after = last.mono - first.mono, first.disk_read_bytes, last.disk_read_bytes
    if seconds < _TRAINED_S:
        return None
    return _Look(
        samples=len(detailed),
        waiting=len(waiting),
        pressure=sorted(sample.pressure.get("io.some", 0.0) for _, sample in detailed)[len(detailed) // 2],
        cores=(last.cpu_s - first.cpu_s) / seconds,
        read_bytes_per_s=None if before is None or after is None else (after - before) / seconds,
        source=f"vitals.jsonl:{waiting[0]}-{waiting[-1]}",
    )
