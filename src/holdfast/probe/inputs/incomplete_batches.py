"""Rows that a loader of torch reads and drops, since they are fewer than one batch.

A dataset that is a stream has no length, and each worker makes batches of its own: how many rows there were is known
only where they are read.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from ...journal.events import IncompleteBatchDropped
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.wrapping import observe

PART = "incomplete_batches"
_MOST_RECORDED = (
    4  # in a process; a worker that is forked for each epoch begins again with its parent's count
)
_MOST_PASSES = 2  # that gave nothing: later ones say the same


def hook_fetcher(context: ProbeContext, module: Any) -> None:
    recorded: list[IncompleteBatchDropped] = []

    def ended(fetcher: Any, error: BaseException) -> None:
        if not isinstance(error, StopIteration) or context.heartbeat.step or len(recorded) >= _MOST_RECORDED:
            return
        if context.loop.empty_passes >= _MOST_PASSES or getattr(fetcher, "_holdfast_delivered", False):
            return
        event = _dropped(fetcher, error)
        if event is not None:
            recorded.append(event)
            context.record(event)

    kind = getattr(module, "_IterableDatasetFetcher", None)
    if kind is not None:
        observe(
            context, kind, "fetch", PART,
            before=lambda args, kwargs: args[0],
            after=lambda fetcher, _: setattr(fetcher, "_holdfast_delivered", True),
            failed=ended,
        )  # fmt: skip


def _dropped(fetcher: Any, error: BaseException) -> IncompleteBatchDropped | None:
    frame = _frame_of_fetch(error)
    if frame is None or not getattr(fetcher, "drop_last", False):
        return None
    rows, wanted = frame.f_locals.get("data"), frame.f_locals.get("possibly_batched_index")
    if not isinstance(rows, list) or wanted is None or not 0 < len(rows) < len(wanted):
        return None
    about = sys.modules.get("torch.utils.data")
    worker = about.get_worker_info() if about is not None else None
    return IncompleteBatchDropped(
        rows=len(rows),
        batch=len(wanted),
        worker=getattr(worker, "id", None),
        workers=int(getattr(worker, "num_workers", 0)),
    )


def _frame_of_fetch(error: BaseException) -> FrameType | None:
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_name == "fetch":
            return traceback.tb_frame
        traceback = traceback.tb_next
    return None


TORCH_HOOKS = (Hook(PART, "torch.utils.data._utils.fetch", hook_fetcher),)
