"""Loader threads wait for the disk or the network."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.pipeline import waits_for_data
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import size


@cause("storage-slow", Group.DATA, specialises=("input-starved",))
def storage_slow(evidence: Evidence) -> Finding | None:
    found = waits_for_data(evidence)
    training = [
        (line, s) for line, s in evidence.samples if s.step > 0 or s.phase in ("fill", "data-wait", "step")
    ]
    detailed = [(line, s) for line, s in training if s.thread_states or s.waits]
    if len(detailed) < 3:
        return None
    waiting = [
        (line, s)
        for line, s in detailed
        if s.thread_states.get("D", 0) or any(_STORAGE.search(name) for name in s.waits)
    ]
    share_d = len(waiting) / len(detailed)
    pressed = [s.pressure.get("io.some", 0.0) for _, s in detailed]
    pressure = sorted(pressed)[len(pressed) // 2]
    starved = found is not None and found[0] >= 0.5 and found[1] >= 5
    if found is not None and found[0] < 0.3:
        return None
    if share_d < 0.4 and not (pressure > 25 and share_d > 0.15):
        return None
    first, last = training[0][1], training[-1][1]
    seconds = max(1e-6, last.mono - first.mono)
    idle = (last.cpu_s - first.cpu_s) / seconds < 0.7
    if seconds < 6 or not (starved or idle):
        return None
    facts = [
        Fact(
            f"threads stood in the wait for storage in {len(waiting)} of {len(detailed)} looks",
            f"vitals.jsonl:{waiting[0][0]}-{waiting[-1][0]}",
        )
    ]
    if pressure > 5:
        facts.append(
            Fact(f"tasks of the machine waited for I/O {pressure:.0f} % of the time", "vitals.jsonl")
        )
    if found is not None:
        facts.append(
            Fact(f"{found[0]:.0%} of the time of steps was spent waiting for the next batch", found[2])
        )
    if first.disk_read_bytes is not None and last.disk_read_bytes is not None:
        facts.append(
            Fact(
                f"it read {size((last.disk_read_bytes - first.disk_read_bytes) / seconds)} a second from storage",
                "vitals.jsonl",
            )
        )
    data = evidence.data()
    where = f" ({data.event.files[0]} …)" if data is not None and data.event.files else ""
    return Finding(
        "storage-slow",
        Strength.SUPPORTED if starved or share_d > 0.6 else Strength.POSSIBLE,
        f"the loader waits for storage{where}",
        tuple(facts),
        (),
        (
            Remedy("copy the data to a local disk before training", "your-choice"),
            Remedy(
                "read fewer, larger files: TFRecord shards instead of single pictures",
                "your-choice",
                "holdfast data convert DATA --to tfrecord",
            ),
        ),
        ends=False,
    )


_STORAGE = re.compile(
    r"rpc_|nfs|fuse|ceph|cifs|io_schedule|folio_wait|wait_on_page|blk_|request_wait|filemap|p9_|throtl"
)
