"""The pipeline that feeds training: its nodes, what each holds, and how many elements leave it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any


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
        if self.element_bytes is None:
            return None
        if self.op in ("shuffle", "prefetch"):
            if not self.buffer_size or self.buffer_size < 0:
                return None
            count = self.buffer_size
            if self.op == "shuffle" and self.cardinality is not None and self.cardinality > 0:
                count = min(count, self.cardinality)
            return count * self.element_bytes
        if self.op == "cache" and self.cardinality is not None and self.cardinality > 0:
            return self.cardinality * self.element_bytes
        return None


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


def sized_nodes(
    described: list[dict[str, Any]], source: str, batch_bytes: int | None, produced: dict[str, int]
) -> tuple[PipelineNode, ...]:
    """The nodes; where one does not know its element's size, it is a batch behind `batch` and a share of it before."""
    nodes = _with_counts([pipeline_node(node, source) for node in described])
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


def _with_counts(nodes: list[PipelineNode]) -> list[PipelineNode]:
    """How many elements leave each node, followed from a source whose count is known."""
    found: list[PipelineNode] = []
    count: int | None = None
    for node in nodes:
        own = node.cardinality if node.cardinality is not None else _count_after(node, count)
        found.append(replace(node, cardinality=own))
        count = own
    return found


def _count_after(node: PipelineNode, count: int | None) -> int | None:
    if node.op == "tensorslice":
        return whole_or_none(node.settings.get("elements"))
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


def whole_or_none(value: Any) -> int | None:
    return (
        int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        else None
    )


def number_of(value: Any) -> float | None:
    """A logged number. The journal writes "nan", "inf" and "-inf" as words."""
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
