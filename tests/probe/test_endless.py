"""Which generators can end, by their code alone."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import count

from holdfast.probe.state.endless_iterators import never_returns, of_nodes


def for_ever() -> Iterator[int]:
    while True:
        for number in range(3):
            yield number + 1


def until_it_breaks() -> Iterator[int]:
    while True:
        try:
            yield 1
        except ValueError:
            return


def with_a_break() -> Iterator[int]:
    while True:
        yield 1
        if id(None) == 0:
            break


def counting() -> Iterator[int]:
    yield from count()


class Loader:
    def batches(self) -> Iterator[int]:
        while True:
            yield 1


def test_only_a_loop_without_a_way_out_never_returns() -> None:
    assert never_returns(for_ever)
    assert never_returns(functools.partial(for_ever))
    assert never_returns(Loader().batches)
    assert never_returns(for_ever().gi_code)  # type: ignore[attr-defined]
    for ends in (until_it_breaks, with_a_break, counting, lambda: for_ever(), len, None):
        assert not never_returns(ends)


def test_a_dataset_is_endless_unless_something_behind_the_generator_ends_it() -> None:
    source = {"op": "generator", "endless": True}
    assert of_nodes([{"op": "tensor"}, source, {"op": "map"}, {"op": "batch"}, {"op": "prefetch"}])
    assert not of_nodes([source, {"op": "take", "count": 100}, {"op": "batch"}])
    assert not of_nodes([source, {"op": "zip"}])
    assert not of_nodes([{"op": "generator"}, {"op": "batch"}])
