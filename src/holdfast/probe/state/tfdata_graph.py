"""The chain of a tf.data dataset, read from the attributes of its Python objects; nothing is drawn from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..runtime import user_lines
from . import loop_source

_NUMBERS = (
    "buffer_size", "batch_size", "count", "num_parallel_calls", "cycle_length", "block_length", "num_shards", "index",
    "drop_remainder", "buffer_output_elements", "prefetch_input_elements", "reshuffle_each_iteration", "deterministic",
    "filename", "path", "size", "shift", "stride", "num_parallel_reads",
)  # fmt: skip
_FUNCTIONS = ("_map_func", "_predicate", "_func", "_scan_func", "_key_func", "_reduce_func")
_PYTHON_OPS = frozenset({"PyFunc", "EagerPyFunc", "PyFuncStateless"})
_NODE_LIMIT = 60


def walk(dataset: Any, limit: int = _NODE_LIMIT) -> list[Any]:
    """The dataset's objects from the source to the end; branches of a zip or a mixture one after the other."""
    nodes: list[Any] = []
    waiting = [dataset]
    while waiting and len(nodes) < limit:
        node = waiting.pop()
        nodes.append(node)
        waiting.extend(reversed(list(_inputs(node))))
    return nodes[::-1]


def describe(dataset: Any) -> list[dict[str, Any]]:
    return [_describe_one(node) for node in walk(dataset)]


def batch_size_of(dataset: Any) -> int | None:
    """Of the last batching, which makes the first dimension."""
    sizes = [node.get("batch_size") for node in describe(dataset) if "batch" in str(node["op"])]
    return sizes[-1] if sizes and isinstance(sizes[-1], int) else None


def is_python_fed(dataset: Any) -> bool:
    return any(_generator_function(node) is not None or _calls_python(node) for node in walk(dataset))


def files_of(dataset: Any) -> list[str]:
    """Source files named by the nodes: record files, lists of names in memory."""
    files: list[str] = []
    for node in walk(dataset):
        names = getattr(node, "_filenames", None)
        tensors = (
            [names]
            if names is not None and hasattr(names, "numpy")
            else list(getattr(node, "_tensors", None) or [])
        )
        for tensor in tensors:
            if _is_text(tensor):
                files.extend(_texts(tensor))
    return files


def _is_text(tensor: Any) -> bool:
    return getattr(getattr(tensor, "dtype", None), "name", "") == "string" and hasattr(tensor, "numpy")


def _texts(tensor: Any) -> Iterator[str]:
    values = tensor.numpy()
    flat = values.reshape(-1) if hasattr(values, "reshape") else [values]
    for value in flat[:200_000]:
        if isinstance(value, bytes) and 0 < len(value) < 1024:
            yield value.decode("utf-8", "replace")


def kind_of(node: Any) -> str:
    """`_ParallelMapDataset` is "map"."""
    name = re.sub(r"(DatasetV[12]|Dataset|Adapter)+$", "", type(node).__name__).strip("_")
    word = re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", name).lower()
    return {
        "parallel_map": "map",
        "parallel_batch": "batch",
        "parallel_interleave": "interleave",
        "tf_record": "tfrecord",
    }.get(word, word)


def _inputs(node: Any) -> Iterator[Any]:
    several = (
        getattr(node, "_datasets", None)
        or getattr(node, "_input_datasets", None)
        or getattr(node, "_data_inputs", None)
    )
    if several is not None:
        yield from _flat(several)
        return
    for name in ("_input_dataset", "_dataset", "_impl", "_mapped_dataset"):
        inner = getattr(node, name, None)
        if inner is not None and hasattr(inner, "element_spec"):
            yield inner
            return


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = value.values()
    if hasattr(value, "element_spec"):
        yield value
    elif isinstance(value, (list, tuple)) or hasattr(value, "__iter__"):
        for item in value:
            yield from _flat(item)


def _describe_one(node: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"op": kind_of(node)}
    if "Parallel" in type(node).__name__:
        facts["parallel"] = True
    for name in _NUMBERS:
        value = _value(getattr(node, "_" + name, None))
        if value is not None and value != "":
            facts[name] = value
    function = function_of(node)
    if function is not None:
        facts["function"] = getattr(function, "__name__", type(function).__name__)
        facts["where"] = user_lines.of_function(function)
        if _generator_function(node) is not None:
            facts["op"] = "generator"
            if loop_source.never_returns(function):
                facts["endless"] = True
    if _calls_python(node):
        facts["python"] = True
    tensors = getattr(node, "_tensors", None)
    if tensors:
        facts["bytes"] = sum(tensor_bytes(tensor) for tensor in tensors)
        facts["elements"] = _first_dimension(tensors[0]) if facts["op"] == "tensor_slice" else 1
    return facts


def _value(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "numpy") and tuple(getattr(value, "shape", (1,))) == ():
        plain = value.numpy()
        plain = plain.item() if hasattr(plain, "item") else plain
        return plain.decode("utf-8", "replace") if isinstance(plain, bytes) else plain
    return None


def function_of(node: Any) -> Any:
    """The user's function of a map, a filter or a generator."""
    generator = _generator_function(node)
    if generator is not None:
        return generator
    for name in _FUNCTIONS:
        wrapper = getattr(node, name, None)
        inner = getattr(wrapper, "_func", None)
        if callable(inner):
            return inner
    return None


def _generator_function(node: Any) -> Any:
    """`from_generator` is a flat_map whose function closes over a state object that keeps the callable."""
    waiting = [getattr(getattr(node, "_map_func", None), "_func", None)]
    for _ in range(20):
        if not waiting:
            return None
        function = waiting.pop()
        if not getattr(function, "__module__", "").startswith("tensorflow."):
            continue
        for content in _closed_over(function):
            if hasattr(content, "_generator"):
                return content._generator
            if callable(content):
                waiting.append(content)
    return None


def _closed_over(function: Any) -> Iterator[Any]:
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _calls_python(node: Any) -> bool:
    for name in ("_map_func", "_predicate", "_reduce_func"):
        concrete = getattr(getattr(node, name, None), "_function", None)
        graph = getattr(concrete, "graph", None)
        if graph is None:
            continue
        if any(operation.type in _PYTHON_OPS for operation in graph.get_operations()):
            return True
        if any(f'op: "{name}"' in str(inner) for inner in _inner_functions(graph) for name in _PYTHON_OPS):
            return True
    return False


def _inner_functions(graph: Any) -> list[Any]:
    """Functions called by the function, such as the branches of a condition, as text protos; a few only."""
    functions = getattr(graph, "_functions", None) or {}
    definitions = [getattr(function, "cached_definition", None) for function in list(functions.values())[:8]]
    return [
        definition for definition in definitions if definition is not None and definition.ByteSize() < 1 << 20
    ]


def tensor_bytes(tensor: Any) -> int:
    total = int(getattr(getattr(tensor, "dtype", None), "size", 0) or 0)
    for dimension in getattr(tensor, "shape", None) or ():
        total *= int(dimension or 0)
    return total


def _first_dimension(tensor: Any) -> int | None:
    shape = getattr(tensor, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) and shape[0] is not None else None


#: Steps of a pipeline that leave the values of its elements as they are.
_KEEP_VALUES = frozenset(
    {"shuffle", "batch", "repeat", "prefetch", "cache", "options", "take", "skip", "shard"}
)


def passes_tensors_on(described: list[dict[str, Any]]) -> bool:
    """Whether it begins with tensors in memory, and nothing behind them changes a value. `described`: by `describe`."""
    begins = bool(described) and described[0]["op"] == "tensor_slice"
    return begins and all(node["op"] in _KEEP_VALUES for node in described[1:])
