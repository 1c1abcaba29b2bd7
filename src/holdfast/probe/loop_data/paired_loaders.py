"""Two loaders of torch that are drawn from in turn, as by `zip`, and shuffle each for itself.

Rows that belong together have one order, and pairs of them need one. Two random samplers give the same order only where
each has a generator of its own, with one seed.
"""

from __future__ import annotations

from typing import Any

from ...journal.events import PairedLoadersSeen
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.weak_references import weak

PART = "paired_loaders"
_TURNS = 6  # A, B, A, B, …: a validation within an epoch changes the iterator too, but not at each batch
_MOST_CHANGES = 200


class PairedLoaders:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._before: Any = lambda: None
        self._newest: Any = lambda: None
        self._turns = self._changes = 0
        self._over = False

    def changed(self, iterator: Any) -> None:
        """Another iterator is drawn from than the one before."""
        if self._over:
            return
        self._changes += 1
        self._turns = self._turns + 1 if self._before() is iterator else 0
        self._before, self._newest = self._newest, weak(iterator)
        self._over = self._changes > _MOST_CHANGES
        if self._turns >= _TURNS:
            self._over = True
            other = self._before()
            self._context.guard(PART, self._look, iterator, other)

    def _look(self, one: Any, other: Any) -> None:
        samplers = [_random_sampler(one), _random_sampler(other)]
        if None in samplers or len(samplers[0]) != len(samplers[1]):
            return
        generators: list[Any] = [getattr(each, "generator", None) for each in samplers]
        shared = generators[0] is not None and generators[0] is generators[1]
        seeds = [None if one is None else one.initial_seed() for one in generators]
        if not shared and None not in seeds and seeds[0] == seeds[1]:
            return
        self._context.record(
            PairedLoadersSeen(rows=len(samplers[0]), shared_generator=shared, where=user_lines.caller_line())
        )


def _random_sampler(iterator: Any) -> Any:
    """None where the order is another's: of a sampler of the user's own, or of an iterable dataset."""
    batches = getattr(iterator, "_index_sampler", None)
    sampler = getattr(batches, "sampler", batches)
    return sampler if type(sampler).__name__ == "RandomSampler" else None
