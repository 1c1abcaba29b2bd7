"""The pipeline that feeds training: its nodes, what each holds, and how many elements leave it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, final

from holdfast.explain.finding import Fact
from holdfast.explain.readings.numbers import whole_or_none
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence


#: Cardinalities of tf.data that are no count.
INFINITE, UNKNOWN_LENGTH = -1, -2


def element_shapes(data: ev.DatasetSeen) -> list[list[int | None]]:
    """Of the arrays of an element, as far as they are known; None is a side that varies."""
    spec = data.element_spec if isinstance(data.element_spec, list) else []
    return [part[0] for part in spec if isinstance(part, list) and part and isinstance(part[0], list)]


def from_generator(data: ev.DatasetSeen) -> bool:
    """Python iterates it once, and cannot start it again."""
    return data.type in ("generator", "iterator")


@final
@dataclass(frozen=True, slots=True)
class PipelineNode:
    op: str  # shuffle, cache, prefetch, map, batch, filter, …
    buffer_size: int | None
    element_bytes: int | None  # of one element that leaves the node
    cardinality: int | None
    where: str
    source: str
    settings: dict[str, Any]

    def holds_bytes(self) -> int | None:
        """What the node keeps when it is full, as far as sizes are known."""
        counted, buffer = max(0, self.cardinality or 0), max(0, self.buffer_size or 0)
        count = {"prefetch": buffer, "shuffle": min(buffer, counted or buffer), "cache": counted}
        elements = count.get(self.op)  # 0 where it is not known
        return elements * self.element_bytes if elements and self.element_bytes is not None else None

    @property
    def fact(self) -> Fact:
        """What the node keeps in memory."""
        each = {"elements": self.buffer_size, "element_bytes": self.element_bytes}
        kept = {"op": self.op, "where": self.where, **each, "full_bytes": self.holds_bytes()}
        return Fact("pipeline.buffer", kept, self.source)


def largest(nodes: Sequence[PipelineNode]) -> PipelineNode | None:
    """The node that keeps most when it is full, as far as that is known."""
    return max(nodes, key=lambda one: one.holds_bytes() or one.buffer_size or 0, default=None)


def pipeline_node(node: dict[str, Any], source: str) -> PipelineNode:
    return PipelineNode(
        op=op_name(str(node.get("op", ""))),
        buffer_size=whole_or_none(node.get("buffer_size")),
        element_bytes=whole_or_none(node.get("element_bytes")),
        cardinality=whole_or_none(node.get("cardinality")),
        where=str(node.get("where") or ""),
        source=source,
        settings=node,
    )


def produced_bytes(counted: Iterable[ev.PipelineSeen]) -> dict[str, int]:
    """Mean bytes of an element that leaves each kind of node, by tf.data's own counters."""
    found: dict[str, int] = {}
    for node in (node for one in counted for node in one.nodes):
        for elements, size in (("elements", "produced_bytes"), ("buffered_elements", "buffered_bytes")):
            if node.get(elements) and node.get(size):
                found[op_name(str(node.get("name")))] = int(node[size] / node[elements])
                break
    return found


def sized_nodes(
    data: Recorded[ev.DatasetSeen], batch_bytes: int | None, produced: dict[str, int]
) -> tuple[PipelineNode, ...]:
    """The nodes; where one does not know its element's size, it is a batch behind `batch` and a share of it before."""
    nodes = _with_counts([pipeline_node(node, data.source) for node in data.event.nodes])
    nodes = [replace(node, element_bytes=node.element_bytes or produced.get(node.op)) for node in nodes]
    batches = [at for at, node in enumerate(nodes) if node.op == "batch"]
    if batch_bytes is None:
        return tuple(nodes)
    found = []
    for at, node in enumerate(nodes):
        after = [other for other in batches if other <= at]
        ahead = [whole_or_none(nodes[other].settings.get("batch_size")) for other in batches if other > at]
        known = node.element_bytes
        if known is None and (after or not batches) and not ahead:
            known = batch_bytes
        elif known is None and ahead and all(ahead):
            known = batch_bytes // math.prod(size for size in ahead if size)
        found.append(replace(node, element_bytes=known))
    return tuple(found)


def _with_counts(nodes: Iterable[PipelineNode]) -> list[PipelineNode]:
    """How many elements leave each node, followed from a source whose count is known."""
    found: list[PipelineNode] = []
    for node in nodes:
        before = found[-1].cardinality if found else None
        count = node.cardinality if node.cardinality is not None else _count_after(node, before)
        found.append(replace(node, cardinality=count))
    return found


def _count_after(node: PipelineNode, count: int | None) -> int | None:
    if node.settings.get("endless") or (
        count == INFINITE and node.op in ("filter", "ignoreerrors", "interleave")
    ):
        return INFINITE
    if node.op == "tensorslice":
        return whole_or_none(node.settings.get("elements"))
    if node.op == "repeat" and (whole_or_none(node.settings.get("count")) or 0) < 0:
        return INFINITE  # whatever it is that repeats
    if count is None or node.op not in ("map", "shuffle", "cache", "prefetch", "batch", "take", "repeat"):
        return None
    number = whole_or_none(node.settings.get("batch_size" if node.op == "batch" else "count"))
    if node.op == "batch":
        if not number or count < 0:
            return count if count < 0 else None
        return count // number if node.settings.get("drop_remainder") else -(-count // number)
    if node.op == "repeat":
        return -1 if number is None or number < 0 or count < 0 else count * number
    if node.op == "take":
        return number if count < 0 else min(count, number) if number is not None else None
    return count


def part_bytes(part: dict[str, Any]) -> int | None:
    shape = part.get("shape")
    if not isinstance(shape, list | tuple) or not all(isinstance(side, int) for side in shape):
        return None
    width = re.search(r"(\d+)", str(part.get("dtype", "")))
    return math.prod(shape) * (int(width[1]) // 8 if width else 1)


def op_name(op: str) -> str:
    """ "_ParallelMapDatasetV2" and "map" are both "map"."""
    short = re.sub(r"(dataset|v\d+|_|\d+$)", "", op.lower())
    for known in ("shuffle", "cache", "prefetch", "filter", "paddedbatch", "batch", "repeat", "ignoreerrors", "map",
                  "interleave", "take", "generator", "tfrecord", "zip"):  # fmt: skip
        if known in short and not (known == "batch" and short.startswith("unbatch")):
            return "batch" if known == "paddedbatch" else known
    return short


# -- what the pipeline held, and how long steps waited for it -------------------------------------


class Buffered(NamedTuple):
    """What tf.data's own counters say a node held at most."""

    bytes: int
    elements: int
    source: str


class DataWait(NamedTuple):
    """How long training steps waited for data."""

    share: float  # of the time of the steps
    seconds: float  # in all
    source: str

    @property
    def fact(self) -> Fact:
        return Fact("data.waited-for", {"share": self.share, "seconds": self.seconds}, self.source)


def holders(evidence: Evidence) -> list[tuple[int, PipelineNode]]:
    """Nodes of the pipeline that keep elements, with what they keep when full, the largest first."""
    known = [(held, node) for node in evidence.nodes if (held := node.holds_bytes()) is not None]
    return sorted(known, key=lambda pair: -pair[0])


def buffered(evidence: Evidence, op: str, role: str = "train") -> Buffered | None:
    """What tf.data's own counters say a node held at most."""
    best: Buffered | None = None
    for seen in evidence.all(ev.PipelineSeen):
        for node in seen.event.nodes if seen.event.role == role else []:
            held = int(node.get("buffered_bytes") or 0)
            if op_name(str(node.get("name"))) == op and held > (best.bytes if best is not None else 0):
                best = Buffered(held, int(node.get("buffered_elements") or 0), seen.source)
    return best


def waits_for_data(evidence: Evidence) -> DataWait | None:
    """None where it cannot be known."""
    seen = [one for one in evidence.all(ev.PipelineSeen) if one.event.waiting_share is not None]
    steps = [one for one in seen if one.event.role == "train"]
    how = evidence.fit.start.data_wait if evidence.fit is not None else ""
    counted = how in ("exact", "") or (how == "sampled" and len(steps) < 2)  # else it lags behind the looks
    if evidence.samples and counted:
        line, last = evidence.samples[-1]
        if last.data_wait_s > 0:
            share = last.data_wait_s / max(1e-9, last.data_wait_s + last.compute_s)
            return DataWait(share, last.data_wait_s, f"vitals.jsonl:{line}")
    if len(steps) < 2:
        return None
    share = sorted(one.event.waiting_share or 0.0 for one in steps)[len(steps) // 2]
    return DataWait(share, share * (steps[-1].mono - steps[0].mono), steps[-1].source)


_PAUSE_S = 3.0  # without a heartbeat: longer than any ordinary step of the test programs
#: All chosen. Samples, and windows of several seconds, below which it cannot be known whether most steps waited.
_LEAST_SAMPLES, _LEAST_WINDOWS = 3, 3
#: Pauses are rare when they come at less than every tenth step, and are what was waited for when they make up half.
_RARE, _HALF = 0.1, 0.5
#: Seconds of a window: several heartbeats, of which what is sampled is one late; or a tenth of the run.
_WINDOW_S, _WINDOWS = 6.0, 10
#: Share of the steps, in windows that mostly waited, from which waiting is the rule.
_MANY_STEPS = 0.4


def waits_throughout(evidence: Evidence) -> bool:
    """Whether most steps waited for data, and not only those of a pause or two. True where it cannot be known.

    A sample shows what was so a look before, so that the windows are of several seconds.
    """
    trained = [sample for _, sample in evidence.samples if sample.step and sample.phase]
    while len(trained) > 1 and trained[-2].step == trained[-1].step:
        trained.pop()  # what comes after the last step is no pause between steps
    if len(trained) < _LEAST_SAMPLES:
        return True
    ages = [  # the first batch of an epoch is waited for apart, and not among the time of steps
        0.0 if sample.phase == "fill" else sample.beat_age_s or 0.0 for sample in trained
    ]
    pauses = [age for age, after in pairwise([*ages, 0.0]) if age >= _PAUSE_S and after < age]
    if len(pauses) < _RARE * trained[-1].step and sum(pauses) > _HALF * trained[-1].data_wait_s:
        return False
    long_s = max(_WINDOW_S, (trained[-1].mono - trained[0].mono) / _WINDOWS)
    windows: list[tuple[int, float, float]] = []
    first = trained[0]
    for sample in trained[1:]:
        if sample.mono - first.mono >= long_s or sample is trained[-1]:
            waited = sample.data_wait_s - first.data_wait_s
            windows.append((sample.step - first.step, waited, waited + sample.compute_s - first.compute_s))
            first = sample
    steps = sum(count for count, _, _ in windows)
    waiting = sum(count for count, waited, together in windows if waited > _HALF * together)
    return len(windows) < _LEAST_WINDOWS or steps == 0 or waiting >= _MANY_STEPS * steps
