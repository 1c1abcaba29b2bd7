"""Which of the script's own objects hold what: by attributes, classes, closures and globals."""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast.probe
from holdfast.probe.holdings import bytes_of, length_of, user_globals, user_locals, walk
from holdfast.probe.models import Alive


class Keeper:
    shared: list[bytes] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.own = [b"x" * 1000] * 10
        self.by_name = {"losses": [1.0] * 50}


def paths(name: str, value: Any) -> Iterator[str]:
    return (path for path, _, _ in walk(name, value, "train.py:1", set()))


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

    known, kept = Alive(), [Model(), Model(), Model()]
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
        found = {name: (value, where) for name, value, where in user_locals(sys._getframe())}
        assert found["history in train"][0] is history
        del found, batch
        return gone()

    assert train(3) is None


def test_where_a_local_lies_is_its_functions_line() -> None:
    def train() -> list[str]:
        kept = [1.0] * 10
        assert kept
        return [where for name, _, where in user_locals(sys._getframe()) if name == "kept in train"]

    line = train.__code__.co_firstlineno
    assert [where.rpartition(":")[2] for where in train()] == [str(line)]
