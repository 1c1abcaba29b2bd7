"""What feeds the training: datasets, batches, pipelines, files."""

from __future__ import annotations

from typing import Any

from ...typing_names import Literal
from .event import Event, Json, field


class DatasetSeen(Event):
    """What feeds a fit, an evaluation or a loop, as far as it can be read without drawing from it."""

    role: str = "train"  # train | validation | predict
    type: str = ""  # tf.data | holdfast | array | generator | py_dataset | torch | iterator
    python_fed: bool | None = None  # elements are made by Python code
    element_spec: Any = None  # [[shape, dtype], ...]
    element_bytes: int | None = None  # of one element as fed (a batch); None when a dimension is not known
    cardinality: int | None = None  # -1 infinite, -2 unknown
    # from the source to the end: {"op": "shuffle", "buffer_size": 2048, "where": …}
    nodes: list[Json] = field(default_factory=list)
    files: list[str] = field(default_factory=list)  # the first few source files, where they can be read
    file_count: int | None = None
    array_bytes: int | None = None
    workers: int | None = None
    multiprocessing: bool | None = None
    max_queue_size: int | None = None
    # of arrays in memory: {"x": {"min","max","mean","finite"}, "y": …}
    statistics: Json = field(default_factory=dict)
    where: str = ""


class BatchSeen(Event):
    """What was in a batch: the first one, and one that a failure points at."""

    role: str = "train"
    step: int = 0
    # {"path": "x", "shape", "dtype", "min", "max", "mean", "finite"}
    parts: list[Json] = field(default_factory=list)


class PipelineSeen(Event):
    """tf.data's own counters of an iterator, read while it runs."""

    role: str = "train"
    step: int = 0
    # {"name": "Shuffle", "elements": handed on so far, "buffered_elements", "buffered_bytes", "produced_bytes",
    #  "processing_s", "parallelism"}
    nodes: list[Json] = field(default_factory=list)
    between_fetches_s: float | None = None  # mean of late: what the consumer does between two batches
    step_s: float | None = None  # mean of late, waiting and computing
    waiting_share: float | None = None  # of the time of late that was spent waiting for a batch


class BadFilesFound(Event):
    """After an error about images or records: files of the dataset that are damaged."""

    files: list[Json] = field(default_factory=list)  # {"path", "what", "offset"}
    looked_at: int = 0
    of: int = 0


class DataDropped(Event):
    """A pipeline with `ignore_errors` drops damaged elements; counted in the files when the process ends."""

    count: int = 0
    unit: Literal["records", "images"] = "records"
    lost_by_file: dict[str, int] = field(default_factory=dict)  # the first 20 files; 0: how many is not known


class EmptyPassSeen(Event):
    """A loop requested data and got none, before any step. Written at the first pass and at each doubling."""

    passes: int = 0
    where: str = ""


class LaterPassEmpty(Event):
    """A pass over data gave nothing, after steps had been done. Written at the first one and at each doubling, and
    once more where a later pass gave something."""

    passes: int = 0  # so far, of what was trained on since the newest step; 0: a later one gave something
    step: int = 0  # the newest one
    trained: int = 0  # passes before it, of the same loop or the same dataset, in which steps were done
    where: str = ""


class LoaderEmpty(Event):
    """A loader of torch was asked how many batches it has, and it has none. Written once for each."""

    rows: int | None = None  # None: not known
    batch: int | None = None  # where the incomplete batch is dropped
    step: int = 0  # the newest one then
    where: str = ""


class IncompleteBatchDropped(Event):
    """A loader of torch read all that its dataset has, less than one batch, and dropped it, since it drops what is
    incomplete. Written before any step, by the process that read it: each worker makes batches of its own."""

    rows: int = 0
    batch: int = 0
    worker: int | None = None  # None: in the main process
    workers: int = 0


class ExhaustedIteratorUsed(Event):
    """A loop called an iterator again that had already ended. Written at each doubling."""

    times: int = 0
    where: str = ""


class ArrayShapesDiffered(Event):
    """Arrays could not be stacked because one has another shape than the rest."""

    usual: list[int] = field(default_factory=list)
    odd: list[int] = field(default_factory=list)  # of the first that differs
    index: int = 0  # of that one in its list
    total: int = 0  # arrays in the list


class BadImageSkipped(Event):
    """The trainer met an image that cannot be decoded and used another instead."""

    image: str = ""
    why: str = ""
    step: int = 0
    skipped: int = 0  # so far
    allowed: int = 0  # data.skip_bad


class BoxLeftOut(Event):
    """A box of the dataset is not trained on."""

    file: str = ""
    why: str = ""


class ImagesPacked(Event):
    """Small copies of large images were made; the trainer reads those from an epoch on."""

    images: int = 0
    from_epoch: int = 0  # counted from 0
