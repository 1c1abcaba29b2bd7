"""What feeds a fit, an evaluation or a loop, read without drawing from it."""

from __future__ import annotations

import functools
import operator
from typing import Any

from ...journal.beats import Phase
from ...journal.events import DatasetSeen, LoaderEmpty
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.nested_values import leaves
from ..runtime.wrapping import observe
from ..state import loop_source, tfdata_graph

PART = "datasets"
_SAMPLE_ROWS = 64
_SAMPLE_VALUES = 2_000_000
_MAX_RECORDED = 40
INFINITE, _UNKNOWN = -1, -2  # as tf.data has them


def hook_epoch_iterator(context: ProbeContext, module: Any) -> None:
    """Keras 3."""
    observe(
        context, module.EpochIterator, "__init__", PART,
        before=lambda args, kwargs: args[0],
        after=lambda iterator, _: context.inputs.datasets.epoch_iterator_made(iterator),
    )  # fmt: skip


def hook_data_handler(context: ProbeContext, module: Any) -> None:
    """Keras 2."""
    observe(
        context, module.DataHandler, "__init__", PART,
        before=lambda args, kwargs: (args[0], args, kwargs),
        after=lambda token, _: context.inputs.datasets.data_handler_made(*token) if token else None,
    )  # fmt: skip


class DatasetLog:
    """What feeds fits, evaluations and loops, each dataset recorded once."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._recorded: set[tuple[Any, ...]] = set()
        self._empty_at: set[str] = set()  # lines that asked loaders without a batch for their length

    def epoch_iterator_made(self, iterator: Any) -> None:
        """Keras 3 has chosen an adapter for what it was given. On TensorFlow the batch is fetched inside the compiled
        step; on the others by `__next__`, where the wait is seen."""
        fit = self._context.fits.current
        if fit is not None and type(iterator).__name__ != "TFEpochIterator":
            fit.data_wait = "exact"
        self._context.learning.samples.adapter_chosen(getattr(iterator, "data_adapter", None))
        role = self._plan(getattr(iterator, "num_batches", None))
        event = of_adapter(self._context, getattr(iterator, "data_adapter", None), role)
        if event is not None:
            self.record(event)

    def data_handler_made(self, handler: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The same in Keras 2."""
        self._context.learning.samples.handler_made(handler)
        role = self._plan(getattr(handler, "_inferred_steps", None))
        self.record(_of_data_handler(self._context, handler, role, args, kwargs))

    def loop_iterates(self, iterator: Any, role: str, where: str) -> None:
        """A loop of the user's own draws from it: an iterator of tf.data, or of torch's DataLoader."""
        if hasattr(iterator, "_index_sampler"):
            try:
                batches = len(iterator)
            except TypeError:  # of a dataset that is a stream
                batches = None
            self.record(_of_loader(iterator, getattr(iterator, "_num_workers", None), batches, role, where))
        else:
            self.record(of_tf_data(self._context, iterator._dataset, role, where))

    def loader_is_empty(self, loader: Any) -> None:
        """A loader of torch says that it has no batch; who asks may leave it out for that."""
        where = user_lines.caller_line()
        if where in self._empty_at or len(self._empty_at) >= _MAX_RECORDED:
            return
        self._empty_at.add(where)
        rows, batch = rows_and_batch(loader)
        rows = rows if rows is not None else _length(getattr(loader, "dataset", None))
        self._context.record(
            LoaderEmpty(rows=rows, batch=batch, step=self._context.heartbeat.step, where=where)
        )

    def record(self, event: DatasetSeen) -> None:
        """Once for each dataset, however many fits use it, and never a flood."""
        key = (
            event.role,
            event.type,
            str(event.element_spec),
            event.cardinality,
            str(event.nodes),
            event.where,
        )
        if key not in self._recorded and len(self._recorded) < _MAX_RECORDED:
            self._recorded.add(key)
            self._context.record(event)

    def _plan(self, batches: Any) -> str:
        """The role of the data that is being prepared; how many batches it has is kept with what it is for."""
        planned = batches if isinstance(batches, int) else None
        fit = self._context.fits.current
        if self._context.heartbeat.phase is Phase.PREDICT:
            return "predict"
        if fit is not None and not fit.train_data_seen:
            fit.train_data_seen = True
            fit.planned_steps = planned
            return "train"
        self._context.data.validation_batches = planned
        return "validation"


def of_adapter(context: ProbeContext, adapter: Any, role: str) -> DatasetSeen | None:
    kind = type(adapter).__name__
    where = user_lines.caller_line()
    if kind == "TFDatasetAdapter":
        return of_tf_data(context, adapter._dataset, role, where)
    if kind == "ArrayDataAdapter":
        arrays = [array for array in leaves(getattr(adapter, "_inputs", None)) if array is not None]
        return of_arrays(context, arrays, getattr(adapter, "num_batches", None), role, where)
    if kind == "GeneratorDataAdapter":
        return _of_generator(adapter, role, where)
    if kind == "PyDatasetAdapter":
        return _of_py_dataset(adapter, role, where)
    if kind == "TorchDataLoaderAdapter":
        loader = adapter._dataloader
        return _of_loader(loader, getattr(loader, "num_workers", None), adapter.num_batches, role, where)
    return DatasetSeen(role=role, type=kind, where=where) if adapter is not None else None


def _of_loader(given: Any, workers: int | None, batches: int | None, role: str, where: str) -> DatasetSeen:
    """`given`: the loader, or an iterator of it."""
    return DatasetSeen(
        role=role, type="torch", python_fed=True, workers=workers, cardinality=batches, where=where,
        nodes=_all_dropped(*rows_and_batch(given), where) if batches == 0 else [],
    )  # fmt: skip


def rows_and_batch(given: Any) -> tuple[Any, Any]:
    """Of a loader of torch that drops what is incomplete, or of a dataset class of the user's for Keras."""
    sampler = getattr(given, "batch_sampler", None) or getattr(given, "_index_sampler", None)
    if sampler is not None:
        rows: Any = getattr(sampler, "sampler", None)
        batch = getattr(sampler, "batch_size", None)
        return (
            (len(rows), batch)
            if getattr(sampler, "drop_last", False) and hasattr(rows, "__len__")
            else (None, None)
        )
    own = vars(given) if hasattr(given, "__dict__") else {}
    sizes = [value for name, value in own.items() if "batch" in name.lower() and type(value) is int]
    held = [
        len(value)
        for value in own.values()
        if hasattr(value, "__len__") and not isinstance(value, (str, bytes))
    ]
    # An empty list is one of files that are not there.
    return (max(held), sizes[0]) if len(sizes) == 1 and held and min(held) else (None, None)


def _length(dataset: Any) -> int | None:
    return len(dataset) if hasattr(dataset, "__len__") else None


def _all_dropped(rows: Any, batch: Any, where: str) -> list[dict[str, Any]]:
    """Of data without a batch, though it has rows; else nothing."""
    if not isinstance(rows, int) or not isinstance(batch, int) or not 0 < rows < batch:
        return []
    source = {"op": "source", "cardinality": rows, "where": where}
    return [source, {"op": "batch", "batch_size": batch, "drop_remainder": True, "where": where}]


def of_tf_data(context: ProbeContext, dataset: Any, role: str, where: str = "") -> DatasetSeen:
    if role == "train":
        context.data.is_dataset(dataset)
    files = tfdata_graph.files_of(dataset)
    described = tfdata_graph.describe(dataset)
    if role == "train":
        context.inputs.check_ignored_errors(dataset, described)
    return DatasetSeen(
        role=role,
        type="tf.data",
        python_fed=tfdata_graph.is_python_fed(dataset),
        element_spec=_specs(dataset.element_spec),
        element_bytes=_bytes_of(dataset.element_spec, tfdata_graph.batch_size_of(dataset)),
        cardinality=INFINITE if loop_source.is_endless(described) else _cardinality(dataset),
        nodes=described,
        files=files[:20],
        file_count=len(files) or None,
        statistics=_of_tensors(dataset, described),
        where=where,
    )


def _of_tensors(dataset: Any, described: list[dict[str, Any]]) -> dict[str, Any]:
    """Of tensors in memory that reach the model as they are: nothing behind the source changes a value."""
    if not tfdata_graph.passes_tensors_on(described):
        return {}
    source = tfdata_graph.walk(dataset)[0]
    tensors = [tensor for tensor in getattr(source, "_tensors", None) or [] if hasattr(tensor, "numpy")]
    names = _names(len(tensors))
    by_name = {}
    for name, tensor in zip(names, tensors):
        rows = tensor[:_SAMPLE_ROWS].numpy()
        if getattr(rows, "ndim", 0) and rows.dtype.kind in "fiub":
            by_name[name] = {**statistics(rows), "whole": len(tensor) <= _SAMPLE_ROWS}
    return by_name


def of_arrays(context: ProbeContext, arrays: list[Any], batches: Any, role: str, where: str) -> DatasetSeen:
    known = [array for array in (plain_array(array) for array in arrays) if array is not None]
    if role == "train":
        context.data.is_arrays(known)
    names = _names(len(known))
    return DatasetSeen(
        role=role,
        type="array",
        python_fed=False,
        element_spec=[[[None, *array.shape[1:]], str(array.dtype)] for array in known],
        cardinality=batches if isinstance(batches, int) else None,
        array_bytes=sum(int(array.nbytes) for array in known),
        statistics={name: statistics(array) for name, array in zip(names, known)},
        where=where,
    )


def _names(count: int) -> list[str]:
    """Of the parts of an element: what goes in, and last what is to come out."""
    return ["x"] if count == 1 else [*(f"x{i}" if count > 2 else "x" for i in range(count - 1)), "y"]


def _of_data_handler(
    context: ProbeContext, handler: Any, role: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> DatasetSeen:
    adapter = type(getattr(handler, "_adapter", None)).__name__
    where = user_lines.caller_line()
    given = [
        kwargs.get("x", args[1] if len(args) > 1 else None),
        kwargs.get("y", args[2] if len(args) > 2 else None),
    ]
    arrays = [array for array in leaves(given) if plain_array(array) is not None]
    if "Tensor" in adapter and arrays:
        return of_arrays(context, arrays, getattr(handler, "_inferred_steps", None), role, where)
    return of_tf_data(context, handler._dataset, role, where)


def _of_generator(adapter: Any, role: str, where: str) -> DatasetSeen:
    generator = getattr(adapter, "generator", None)
    code = getattr(_underlying(generator), "gi_code", None)
    never_ends = code is not None and loop_source.never_returns(code)
    return DatasetSeen(
        role=role,
        type="generator",
        python_fed=True,
        element_spec=_specs(getattr(adapter, "_output_signature", None)),
        cardinality=INFINITE if never_ends else _UNKNOWN,
        nodes=[
            {
                "op": "generator",
                "where": user_lines.of_code(code),
                "function": code.co_name,
                "endless": never_ends,
            }
        ]
        if code is not None
        else [],
        where=where,
    )


def _underlying(generator: Any) -> Any:
    """Keras chains the batches it has peeked at before the user's generator."""
    generator = getattr(generator, "__wrapped__", generator)
    for cell in getattr(generator, "__closure__", None) or ():
        content = cell.cell_contents
        if hasattr(content, "gi_code"):
            return content
    return generator


def _of_py_dataset(adapter: Any, role: str, where: str) -> DatasetSeen:
    dataset = adapter.py_dataset
    signature = getattr(adapter, "_output_signature", None)
    return DatasetSeen(
        role=role,
        type="py_dataset",
        python_fed=True,
        element_spec=_specs(signature) if signature is not None else None,
        cardinality=_safe_batches(adapter),
        workers=getattr(dataset, "workers", None),
        multiprocessing=getattr(dataset, "use_multiprocessing", None),
        max_queue_size=getattr(dataset, "max_queue_size", None),
        nodes=[
            {
                "op": "py_dataset",
                "function": type(dataset).__name__,
                "where": user_lines.of_class(type(dataset)),
            },
            *(_all_dropped(*rows_and_batch(dataset), where) if _safe_batches(adapter) == 0 else []),
        ],
        where=where,
    )


def statistics(array: Any) -> dict[str, Any]:
    """Of a sample of rows spread over the array: cheap, and enough to see 0..255 or a NaN everywhere."""
    import numpy as np

    if array.dtype.kind not in "fiub" or not array.size:
        return {}
    per_row = max(1, array[:1].size)
    rows = max(1, min(len(array), _SAMPLE_VALUES // per_row, 4096 if per_row <= 256 else _SAMPLE_ROWS))
    sample = np.asarray(array[:: max(1, len(array) // rows)][:rows], dtype="float64")
    finite = np.isfinite(sample)
    values = sample[finite]
    if not values.size:
        return {"finite": False, "of": int(sample.size)}
    return {
        "min": float(values.min()),
        "max": float(values.max()),
        "mean": float(values.mean()),
        "finite": bool(finite.all()),
        "of": int(sample.size),
        "whole": bool(len(array) == len(sample)),
    }


def _cardinality(dataset: Any) -> int | None:
    try:
        return int(dataset.cardinality())
    except Exception:
        return None


def _safe_batches(adapter: Any) -> int | None:
    try:
        batches = adapter.num_batches
    except Exception:
        return None
    return batches if isinstance(batches, int) else _UNKNOWN


def _specs(value: Any) -> Any:
    return [[_dimensions(spec), _dtype(spec)] for spec in leaves(value)]


def _dimensions(spec: Any) -> list[int | None] | None:
    shape = getattr(spec, "shape", None)
    if shape is None:
        return None
    try:
        return [None if size is None else int(size) for size in shape]
    except (TypeError, ValueError):  # a shape of unknown rank
        return None


def _dtype(spec: Any) -> str:
    dtype = getattr(spec, "dtype", "")
    return str(getattr(dtype, "name", dtype))


def _bytes_of(value: Any, batch: int | None) -> int | None:
    """Of one element; a first dimension that is open is that of the batch."""
    total = 0
    for spec in leaves(value):
        shape = _dimensions(spec)
        if shape and shape[0] is None:
            shape = [batch, *shape[1:]]
        size = getattr(getattr(spec, "dtype", None), "size", None)
        if shape is None or None in shape or size is None:
            return None
        total += functools.reduce(operator.mul, (int(dimension or 0) for dimension in shape), int(size))
    return total


def plain_array(array: Any) -> Any:
    """The NumPy array behind what the adapter keeps, without copying."""
    inner = getattr(array, "array", array)
    return inner if type(inner).__module__.startswith("numpy") and hasattr(inner, "nbytes") else None


KERAS_HOOKS = (Hook(PART, "keras.src.trainers.epoch_iterator", hook_epoch_iterator),)
KERAS2_HOOKS = (Hook(PART, "engine.data_adapter", hook_data_handler),)
