"""What may be kept in memory: decided before the first batch, from sizes that are known by then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast.host.process_limits import free_memory_bytes
from holdfast.pipeline.dataset_columns import Columns, is_remote
from holdfast.pipeline.feed import Feed
from holdfast.pipeline.image_sizes import decoded_sizes, packed_sizes

CacheKind = Literal["none", "encoded", "decoded"]
MEMORY_SHARE = 0.5  # of the free memory: the rest is for the model, the batches under way and the page cache
OVERHEAD_BYTES = 256  # of one entry of the table, measured on TensorFlow 2.21


@dataclass(frozen=True, slots=True)
class CacheDecision:
    """What is kept, and the sentence that says why."""

    kind: CacheKind
    why: str
    pack: bool = False  # keeping nothing, while a packed copy on the disk would serve


def decide(
    *, encoded_bytes: int, decoded_bytes: int, budget_bytes: int, remote: bool, packing_saves: float
) -> CacheDecision:
    """Decoded images when all fit; else encoded ones from remote storage when those fit; else none.

    Local files are left to the kernel's page cache, which does the same and gives the memory back.
    `packing_saves` is the share of the pixels that a packed copy would spare.
    """
    has = f"{_mib(budget_bytes)} may be used"
    if decoded_bytes <= budget_bytes:
        return CacheDecision("decoded", f"all images, decoded, take {_mib(decoded_bytes)}; {has}")
    if remote and encoded_bytes <= budget_bytes:
        return CacheDecision(
            "encoded", f"the storage is remote, and all files take {_mib(encoded_bytes)}; {has}"
        )
    pack = packing_saves >= 0.5
    rest = "; a packed copy on the disk would serve" if pack else ""
    return CacheDecision("none", f"all images, decoded, take {_mib(decoded_bytes)}; {has}{rest}", pack)


def decide_for(columns: Columns, feed: Feed, budget_bytes: int | None = None) -> CacheDecision:
    """The same for a dataset on this machine."""
    decoded = int(decoded_sizes(columns, feed).prod(axis=1).sum()) * 3
    pixels = columns.stored_sizes.astype(np.int64).prod(axis=1)
    return decide(
        encoded_bytes=int(columns.lengths.sum()) + OVERHEAD_BYTES * len(columns),
        decoded_bytes=decoded + OVERHEAD_BYTES * len(columns),
        budget_bytes=int(free_memory_bytes() * MEMORY_SHARE) if budget_bytes is None else budget_bytes,
        remote=is_remote(columns),
        packing_saves=1.0
        - float(packed_sizes(columns, feed).prod(axis=1).sum()) / max(1.0, float(pixels.sum())),
    )


def _mib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
