"""Which of the script's own objects hold what: by attributes, classes, closures and globals."""

from __future__ import annotations

import asyncio
import collections
import queue
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast.probe
from holdfast.probe.memory_use.retained_objects import bytes_of, length_of, user_globals, user_locals, walk
from holdfast.probe.state.model_facts import LiveModels

from ..probed import new_context


class Keeper:
    shared: list[bytes] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.own = [b"x" * 1000] * 10
        self.by_name = {"losses": [1.0] * 50}


def paths(name: str, value: Any) -> Iterator[str]:
    return (found.name for found in walk(name, value, "train.py:1", set()))


def test_what_an_object_and_its_class_keep() -> None:
    assert list(paths("Keeper", Keeper())) == [
        "Keeper.own",
        "Keeper.by_name",
        "Keeper.by_name['losses']",
        "Keeper.shared",
    ]


def test_a_module_that_imports_itself_when_asked_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lazy(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            if name == "__dict__":
                return {"__name__": "tensorflow"}
            raise ImportError("No module named 'tensorflow'")

    monkeypatch.setitem(sys.modules, "lazy_tensorflow", Lazy("tensorflow"))
    assert "Keeper" in {name for name, _, _ in user_globals()}


def test_a_class_among_the_globals() -> None:
    assert list(paths("Keeper", Keeper)) == ["Keeper.shared"]


class Reader(threading.Thread):
    def __init__(self, batches: int) -> None:
        super().__init__()
        self.ahead: queue.Queue[bytes] = queue.Queue(maxsize=batches)


def test_a_queue_is_known_by_its_limit_and_by_what_was_taken_out() -> None:
    reader, unlimited = Reader(40), queue.LifoQueue[int]()
    for number in range(3):
        reader.ahead.put(bytes(10))
        unlimited.put(number)
    reader.ahead.get()
    found = {one.name: one for one in walk("reader", reader, "train.py:1", set())}
    ahead = found["reader(Reader).ahead"]
    assert (len(ahead.value), ahead.limit, ahead.queue, ahead.taken) == (2, 40, True, 1)
    (stack,) = walk("stack", unlimited, "train.py:1", set())
    assert (stack.name, stack.value, stack.limit, stack.queue, stack.taken) == (
        "stack",
        [0, 1, 2],
        None,
        True,
        0,
    )


def test_a_queue_of_asyncio() -> None:
    waiting: asyncio.Queue[int] = asyncio.Queue(maxsize=5)
    waiting.put_nowait(7)
    (found,) = walk("waiting", waiting, "train.py:1", set())
    assert (list(found.value), found.limit, found.queue, found.taken) == ([7], 5, True, 0)


def test_a_deque_with_a_limit() -> None:
    (replay,) = walk("replay", collections.deque([1, 2], maxlen=1000), "train.py:1", set())
    assert (replay.limit, replay.queue) == (1000, False)
    (history,) = walk("history", [1, 2], "train.py:1", set())
    assert (history.limit, history.queue) == (None, False)


def test_an_object_under_another_name() -> None:
    assert next(iter(paths("keep", Keeper()))) == "keep(Keeper).own"


def test_a_closure() -> None:
    kept: list[int] = [1, 2, 3]

    def step() -> int:
        return len(kept)

    assert list(paths("step", step)) == ["step (closure)"]


def test_bytes_are_counted_from_a_sample() -> None:
    assert 1000 * 100 <= bytes_of([b"x" * 1000 for _ in range(100)]) <= 1100 * 100


class Lazy:
    """Connects, loads or raises whenever it is asked for anything."""

    def __init__(self) -> None:
        self.kept = [b"x" * 100] * 10

    def __getattr__(self, name: str) -> Any:
        raise ConnectionError(name)

    def __call__(self) -> None:
        raise AssertionError


class LazyList(list[bytes]):
    def __iter__(self) -> Iterator[bytes]:
        raise AssertionError("it would read its files")

    def __len__(self) -> int:
        raise AssertionError("it would count its files")


def test_no_code_of_the_user_is_run_to_look() -> None:
    assert list(paths("Lazy", Lazy())) == ["Lazy.kept"]
    held = LazyList([b"x" * 1000] * 10)
    assert 10_000 <= bytes_of(held) <= 12_000
    assert length_of(held) == 10


def test_models_are_counted_while_they_are_there() -> None:
    class Model:
        pass

    known, kept = LiveModels(), [Model(), Model(), Model()]
    for model in kept:
        known.add(model)
        known.add(model)
    assert known.counts() == {"Model": 3}
    del model
    kept.pop()
    assert known.counts() == {"Model": 2}
    kept.clear()
    assert known.counts() == {}


def test_nothing_in_the_training_process_walks_the_garbage_collectors_objects() -> None:
    """A tuple that another thread builds at that moment is lent out, and its `tuple(…)` raises SystemError."""
    source = Path(holdfast.probe.__file__).parent
    walks = [path.name for path in source.rglob("*.py") if "get_objects(" in path.read_text()]
    assert walks == []


def test_what_a_function_under_way_holds_and_nothing_is_kept_alive_by_looking() -> None:
    class Batch:
        pass

    def train(steps: int) -> Any:
        history = [b"x"] * steps
        batch = Batch()
        gone = weakref.ref(batch)
        found = {name: value for name, value, _ in user_locals(sys._getframe())}
        same = found["history in train"] is history  # an assertion of pytest's calls `locals()`
        del found, batch
        return same, gone()

    assert train(3) == (True, None)


def looked_at_from_another_thread() -> list[str]:
    """Once, as the probe's own thread does it."""
    frame = sys._getframe(1)
    names: list[str] = []
    thread = threading.Thread(target=lambda: names.extend(name for name, _, _ in user_locals(frame)))
    thread.start()
    thread.join()
    return names


def test_what_a_function_has_from_locals_stays_as_it_was() -> None:
    def train(rate: float = 0.1, epochs: int = 3) -> dict[str, Any]:
        settings = locals()
        rate = 0.05
        model = object()
        looked_at_from_another_thread()
        return settings if rate and model else {}

    def train_again(rate: float = 0.1) -> dict[str, Any]:
        settings = vars()
        rate = 0.05
        looked_at_from_another_thread()
        return settings if rate else {}

    assert train() == {"rate": 0.1, "epochs": 3}
    assert train_again() == {"rate": 0.1}


def test_a_dictionary_of_its_variables_that_somebody_else_holds_is_not_emptied() -> None:
    def remember() -> dict[str, Any]:
        return sys._getframe(1).f_locals  # as libraries do that note the arguments of their caller

    def train(rate: float = 0.1) -> float:
        noted = remember()
        looked_at_from_another_thread()
        return float(noted["rate"])

    assert train() == 0.1


def test_a_function_that_asks_for_the_variables_of_another_object_is_looked_at() -> None:
    def train(arguments: types.SimpleNamespace) -> list[str]:
        settings = vars(arguments)
        settings.pop("rate")
        return looked_at_from_another_thread()

    assert "settings in train" in train(types.SimpleNamespace(rate=0.1))


def test_what_a_caught_error_left_behind_is_read_without_touching_what_a_function_holds(
    tmp_path: Path,
) -> None:
    context = new_context(tmp_path)

    def load(path: str) -> None:
        raise ValueError("bad picture")

    def train(path: str = __file__, rate: float = 0.1) -> tuple[dict[str, Any], list[str]]:
        settings = locals()
        rate = 0.05
        try:
            load(path)
        except ValueError as error:
            found = context.exceptions.describe(error, left="loader").paths
        return settings, found if rate else []

    settings, found = train()
    assert (settings["rate"], found) == (0.1, [__file__])


def test_where_a_local_lies_is_its_functions_line() -> None:
    def train() -> list[str]:
        kept = [1.0] * 10
        kept.append(2.0)
        return [where for name, _, where in user_locals(sys._getframe()) if name == "kept in train"]

    line = train.__code__.co_firstlineno
    assert [where.rpartition(":")[2] for where in train()] == [str(line)]


class Proxy:
    """As TensorFlow wraps a dict that is an attribute of a model: an instance of dict by `isinstance` only."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return dict


def test_a_proxy_that_only_says_that_it_is_a_dict_is_passed_over() -> None:
    proxy = Proxy()
    assert isinstance(proxy, dict)
    assert list(walk("proxy", proxy, "train.py:1", set())) == []
    assert length_of(proxy) is None
    assert bytes_of([proxy, {"a": 1}]) > 0
