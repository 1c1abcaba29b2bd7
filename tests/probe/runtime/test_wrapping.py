"""What is put around a function: it is called as before, and a part that fails changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.journal.events import ProbeFailed
from holdfast.probe.runtime.wrapping import observe, observe_iterator, replace

from ..probed import new_context, recorded


def test_a_method_that_is_given_no_object_is_left_as_it_is(tmp_path: Path) -> None:
    class Kind:
        @staticmethod
        def double(number: int) -> int:
            return 2 * number

        @classmethod
        def name(cls) -> str:
            return cls.__name__

    context = new_context(tmp_path)
    assert not observe(context, Kind, "double", "part")
    assert not observe(context, Kind, "name", "part")
    assert (Kind().double(3), Kind().name()) == (6, "Kind")


class Model:
    def fit(self, steps: int, *, fail: bool = False) -> int:
        if fail:
            raise ValueError("no data")
        return steps


def test_the_observers_get_the_arguments_the_result_and_the_exception(tmp_path: Path) -> None:
    class Observed(Model):
        fit = Model.fit

    calls: list[Any] = []
    observe(
        new_context(tmp_path), Observed, "fit", "part",
        before=lambda args, kwargs: (args[1:], kwargs),
        after=lambda token, result: calls.append((token, result)),
        failed=lambda token, error: calls.append((token, str(error))),
    )  # fmt: skip
    assert Observed().fit(3) == 3
    with pytest.raises(ValueError, match="no data"):
        Observed().fit(4, fail=True)
    assert calls == [(((3,), {}), 3), (((4,), {"fail": True}), "no data")]


def test_a_part_that_fails_is_off_and_the_function_goes_untouched(tmp_path: Path) -> None:
    class Observed(Model):
        fit = Model.fit

    calls: list[Any] = []

    def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        calls.append(args[1])
        raise RuntimeError("broken")

    context = new_context(tmp_path)
    observe(context, Observed, "fit", "part", before=before)
    assert (Observed().fit(3), Observed().fit(4)) == (3, 4)
    assert calls == [3]
    [failed] = recorded(context, ProbeFailed)
    assert (failed.part, failed.error.startswith("RuntimeError: broken (test_wrapping.py:")) == ("part", True)


def test_the_end_of_an_iterator_is_no_failure(tmp_path: Path) -> None:
    class Numbers:
        def __init__(self, *numbers: int) -> None:
            self._numbers = iter(numbers)

        def __iter__(self) -> Iterator[int]:
            return self

        def __next__(self) -> int:
            number = next(self._numbers)
            if number < 0:
                raise OSError("gone")
            return number

    calls: list[Any] = []
    observe_iterator(
        new_context(tmp_path), Numbers, "part",
        before=lambda iterator: type(iterator).__name__,
        after=lambda token, element: calls.append((token, element)),
        exhausted=lambda token: calls.append((token, "end")),
        failed=lambda token, error: calls.append((token, str(error))),
    )  # fmt: skip
    assert list(Numbers(1, 2)) == [1, 2]
    with pytest.raises(OSError, match="gone"):
        list(Numbers(-1))
    assert calls == [("Numbers", 1), ("Numbers", 2), ("Numbers", "end"), ("Numbers", "gone")]


def test_a_function_is_replaced_once_and_keeps_its_name(tmp_path: Path) -> None:
    class Observed(Model):
        fit = Model.fit

    def build(original: Any) -> Any:
        return lambda *args, **kwargs: 10 * original(*args, **kwargs)

    assert replace(Observed, "fit", build)
    assert not replace(Observed, "fit", build)
    assert not replace(Observed, "evaluate", build)
    assert (Observed().fit(3), Observed.fit.__qualname__) == (30, Model.fit.__qualname__)
