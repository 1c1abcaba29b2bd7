"""What the script's own objects keep alive: surveyed in the background when memory has grown, to name what grows."""

from __future__ import annotations

import inspect
import sys
from collections import deque
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

from ...journal.events import HoldingsSeen
from ..runtime import frame_locals, user_lines
from ..runtime.context import ProbeContext
from ..state import fit_log, tfdata_graph

PART = "retained_objects"
_GROWN_BYTES = 64 << 20
_EVERY_S = 5.0
_DEPTH = 3
_SAMPLE = 50
_KEEP = 10
_SMALL_BYTES = 1 << 20
_FRAMEWORKS = frozenset({"keras", "tensorflow", "tf_keras", "jax", "numpy", "torch", "builtins"})
_ARRAYS = frozenset({"numpy", "jaxlib", "jax", "torch"})
_CONTAINERS = (list, dict, set, frozenset, tuple, deque)
#: Under which names a queue keeps its entries, how many it may hold, and how many were put and are not done:
#: `queue.Queue` and those that derive from it, and `asyncio.Queue`.
_QUEUES = (("queue", "maxsize", "unfinished_tasks"), ("_queue", "_maxsize", "_unfinished_tasks"))


class Retained(NamedTuple):
    """A container or an array, and the path to it."""

    name: str
    value: Any
    where: str
    limit: int | None = None  # how many entries it may hold; None: it has no limit
    queue: bool = False
    taken: int | None = None  # of a queue: entries that were taken out, at least


class RetainedObjects:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._rss = fit_log.rss_bytes() or 0
        self._next_at = 0.0
        self._last: dict[str, int] = {}

    def poll(self, now: float) -> None:
        rss = fit_log.rss_bytes() or 0
        if now < self._next_at or rss - self._rss < _GROWN_BYTES:
            return
        self._rss, self._next_at = rss, now + _EVERY_S
        items, counts = self._survey(), self._context.models.alive.counts()
        self._context.record(
            HoldingsSeen(step=self._context.heartbeat.step, rss_bytes=rss, items=items, object_counts=counts)
        )

    def _survey(self) -> list[dict[str, Any]]:
        retained: dict[str, dict[str, Any]] = {}
        seen: set[int] = set()
        for name, value, where in roots(self._context):
            for found in walk(name, value, where, seen):
                size = bytes_of(found.value)
                if size >= _SMALL_BYTES:
                    retained[found.name] = {
                        "name": found.name,
                        "type": type(found.value).__name__,
                        "length": length_of(found.value),
                        "bytes": size,
                        "grew_by": size - self._last.get(found.name, 0),
                        "where": found.where,
                        "limit": found.limit,
                        "queue": found.queue,
                        "taken": found.taken,
                    }
        self._last = {path: item["bytes"] for path, item in retained.items()}
        return sorted(retained.values(), key=lambda item: -item["bytes"])[:_KEEP]


def roots(context: ProbeContext) -> Iterator[tuple[str, Any, str]]:
    """Callbacks, what was given to fit, globals of the user's modules, locals of its functions under way, what
    functions of the dataset close over."""
    fit = context.fits.current
    for callback in (
        list.__iter__(getattr(fit.callbacks, "callbacks", [])) if fit is not None and fit.callbacks else ()
    ):
        yield type(callback).__name__, callback, user_lines.of_class(type(callback))
    if fit is not None and fit.model is not None:
        yield type(fit.model).__name__, fit.model, user_lines.of_class(type(fit.model))
    yield from user_globals()
    yield from user_locals(sys._current_frames().get(context.heartbeat.thread))
    dataset = context.data.dataset
    for node in tfdata_graph.walk(dataset) if dataset is not None else ():
        function = tfdata_graph.function_of(node)
        if function is not None:
            yield getattr(function, "__qualname__", "function"), function, user_lines.of_function(function)


def user_locals(frame: FrameType | None) -> Iterator[tuple[str, Any, str]]:
    """Of the functions that the training is in, and what Keras was given to fit."""
    while frame is not None:
        code = frame.f_code
        own = user_lines.is_user_file(code.co_filename)
        traced = frame.f_trace is not None  # a debugger writes back what it was shown
        if code.co_flags & inspect.CO_OPTIMIZED and not traced and (own or code.co_name == "fit"):
            for name, value in frame_locals.of(frame).items():
                if own:
                    yield f"{name} in {code.co_name}", value, user_lines.of_code(code)
                elif name == "x" and type(value).__module__.partition(".")[0] not in _FRAMEWORKS:
                    yield type(value).__name__, value, user_lines.of_class(type(value))
        frame = frame.f_back


def user_globals() -> Iterator[tuple[str, Any, str]]:
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__dict__", {}).get("__file__")  # a lazy module imports itself when asked
        user = path and user_lines.is_user_file(path)
        if user or (name == "__main__" and not path):
            for key, value in list(module.__dict__.items()):
                if not key.startswith("__") and not isinstance(value, type(sys)):
                    yield key, value, user_lines.short(path) if path else "<script>"


def walk(name: str, value: Any, where: str, seen: set[int], depth: int = _DEPTH) -> Iterator[Retained]:
    """Containers and arrays reachable through attributes and closures, each once, with the path to it."""
    if id(value) in seen:
        return
    seen.add(id(value))
    kind_of_container = _container(value)
    queue = _of_queue(name, value, where) if kind_of_container is None else None
    if queue is not None:
        yield queue
        return
    if kind_of_container is not None or _array_bytes(value):
        yield Retained(name, value, where, limit=value.maxlen if kind_of_container is deque else None)
        if kind_of_container is dict and dict.__len__(value) <= _SAMPLE and depth:
            for key, inner in list(dict.items(value)):
                if isinstance(key, str) and _container(inner) is not None:
                    yield from walk(f"{name}[{key!r}]", inner, where, seen, depth - 1)
        return
    if not depth:
        return
    closure = _own(value, "__closure__") if callable(value) else None
    for cell in closure if isinstance(closure, tuple) else ():  # the type of functions has a descriptor there
        try:
            inner = cell.cell_contents
        except ValueError:
            continue
        yield from walk(f"{name} (closure)", inner, user_lines.of_function(value) or where, seen, depth - 1)
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__.partition(".")[0] in _FRAMEWORKS:
        return
    location = user_lines.of_class(kind) or where
    if kind is not value:
        label = kind.__name__ if name == kind.__name__ or "." in name else f"{name}({kind.__name__})"
        for key, inner in list((_own(value, "__dict__") or {}).items()):
            yield from walk(f"{label}.{key}", inner, location, seen, depth - 1)
    for key, inner in list(vars(kind).items()):  # what a class keeps, all of its objects share
        if _container(inner) is not None and not key.startswith("__"):
            yield from walk(f"{kind.__name__}.{key}", inner, location, seen, depth - 1)


def _of_queue(name: str, value: Any, where: str) -> Retained | None:
    """What lies in a queue, by how it is made: one that the user derived is one too."""
    for entries, limit, unfinished in _QUEUES:
        inside, most = _own(value, entries), _own(value, limit)
        if _container(inside) is not None and isinstance(most, int):
            put = _own(value, unfinished)
            taken = max(0, put - (length_of(inside) or 0)) if isinstance(put, int) else None
            return Retained(name, inside, where, limit=most if most > 0 else None, queue=True, taken=taken)
    return None


def _own(value: Any, name: str) -> Any:
    """An attribute that is there already. A user's `__getattr__` may load, connect or raise: it is not called."""
    try:
        return object.__getattribute__(value, name)
    except Exception:
        return None


def _items(value: Any) -> list[Any]:
    """What lies in a container, by the built-in way: a subclass may load its items when it is asked for them."""
    kind = _container(value)
    if kind is dict:
        return list(dict.values(value))
    return list(kind.__iter__(value)) if kind is not None else []


def _container(value: Any) -> Any:
    """Which built-in container it is. By its type: a proxy, as TensorFlow makes of a dict, only says that it is one."""
    return next((kind for kind in _CONTAINERS if issubclass(type(value), kind)), None)


def length_of(value: Any) -> int | None:
    kind = _container(value)
    length: int | None = kind.__len__(value) if kind is not None else None
    return length


def bytes_of(value: Any) -> int:
    """About: arrays by their size, containers by a sample of what is in them."""
    own = _array_bytes(value)
    if own:
        return own
    if _container(value) is None:
        return sys.getsizeof(value, 0)
    try:
        items = _items(value)
    except RuntimeError:  # it changed meanwhile
        return 0
    if not items:
        return sys.getsizeof(value, 0)
    sample = items[:: max(1, len(items) // _SAMPLE)][:_SAMPLE]
    each = sum(_array_bytes(item) or _shallow(item) for item in sample) / len(sample)
    return int(each * len(items)) + sys.getsizeof(value, 0)


def _shallow(item: Any) -> int:
    own = sys.getsizeof(item, 0)
    if isinstance(item, (list, tuple, dict)) and (length_of(item) or 0) <= 100:
        return own + sum(_array_bytes(inner) or sys.getsizeof(inner, 0) for inner in _items(item))
    return own


def _array_bytes(value: Any) -> int:
    """Of NumPy arrays and of tensors of any framework, without touching their values."""
    if isinstance(value, type):
        return 0
    if type(value).__module__.partition(".")[0] in _ARRAYS:  # of others, `__getattr__` may load or connect
        size_bytes = getattr(value, "nbytes", None)
        if isinstance(size_bytes, int):
            return 0 if getattr(value, "is_cuda", False) is True else size_bytes
    if type(value).__name__ in ("EagerTensor", "ResourceVariable"):
        return tfdata_graph.tensor_bytes(value)
    return 0
