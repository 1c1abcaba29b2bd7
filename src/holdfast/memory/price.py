"""Accounts for setups by the best method that works here: compiled, else liveness, else a plain count."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.memory import account, ask, count
from holdfast.memory.account import Account, Line
from holdfast.memory.ahead import NoCompiler
from holdfast.memory.ask import Memory, NoAnswer
from holdfast.memory.cards import Card
from holdfast.memory.setup import Setup
from holdfast.pipeline.machine import free_memory_bytes
from holdfast.subprocess_json import ask as ask_process

Say = Callable[[str], None]


class Pricer:
    """Prices setups for a card. Once a better method has failed for want of a package, it is not tried again."""

    def __init__(
        self,
        card: Card,
        memory: Memory,
        *,
        correction_bytes: int = 0,
        compiles: bool = True,
        say: Say = lambda _: None,
    ) -> None:
        self.card, self.memory, self.correction_bytes, self.say = card, memory, correction_bytes, say
        self.compiles = compiles
        self.missing: HoldfastError | None = None  # why the best method was not used
        self.counting: HoldfastError | None = None  # why not even liveness

    def __call__(self, setup: Setup, micro_batches: list[int]) -> list[Account]:
        pairs = [(setup.batch, micro) for micro in micro_batches]
        card = self.card if self.compiles and not self.missing else None
        self.say(f"{setup.short()}: micro-batches of {', '.join(map(str, micro_batches))}")
        if self.counting is not None:
            return self._counted(setup, micro_batches)
        try:
            answers = self._answers(setup, pairs, card)
        except NoAnswer as error:
            self.missing = self.counting = error
            return self._counted(setup, micro_batches)
        method = "compiled" if "compiled" in answers[0] else "liveness"
        return [
            account.device(
                one, self.card, method=method, correction_bytes=self.correction_bytes, backend=setup.backend
            )
            for one in answers
        ]

    def _answers(self, setup: Setup, pairs: list[tuple[int, int]], card: Card | None) -> list[dict[str, Any]]:
        try:
            return self.memory.answers(setup, pairs, card)
        except NoCompiler as error:
            self.missing = error
            return self.memory.answers(setup, pairs, None)

    def _counted(self, setup: Setup, micro_batches: list[int]) -> list[Account]:
        found = count.account_of(ask.counted(setup, python=self.memory.python), setup)
        return [found for _ in micro_batches]


class Trials:
    """Prices setups for this machine's processor, by running small ones and drawing a line through them. What fits by
    that line is run too: the framework's pool of memory grows in steps, which no line shows."""

    def __init__(self, memory_bytes: int, *, say: Say = lambda _: None, python: str = sys.executable) -> None:
        self.say, self.python = say, python
        # Once: with another figure another third would be tried each time.
        self._free_bytes = free_memory_bytes()
        self._memory_bytes = min(memory_bytes, self._free_bytes)
        self._tried: dict[Setup, int] = {}

    def __call__(self, setup: Setup, micro_batches: list[int]) -> list[Account]:
        return [self._confirmed(setup, micro) for micro in micro_batches]

    def _confirmed(self, setup: Setup, micro: int) -> Account:
        drawn, asked = self.drawn(setup, micro), setup.with_micro(micro)
        ran = [one.micro_batch for one in self._tried if one.with_micro(micro) == asked]
        known = any(size >= micro and self._fits(setup, size) for size in ran)
        if micro in ran or known or drawn.total_bytes > self._memory_bytes:
            return drawn
        try:
            self._tried[asked] = max(self._once(asked) for _ in range(CONFIRMING_RUNS))
        except NoAnswer as error:  # the small ones came through
            self.say(f"{micro} at once did not come through here ({', '.join(error.found)}): it does not fit")
            self._tried[asked] = max(drawn.total_bytes, 2 * self._memory_bytes)
        return self.drawn(setup, micro)

    def _fits(self, setup: Setup, micro: int) -> bool:
        return self.drawn(setup, micro).judge(self._memory_bytes) == "fits"

    def drawn(self, setup: Setup, micro: int) -> Account:
        """By the line, unless it was run."""
        small: list[tuple[int, int]] = []
        while (size := next_size(small, self._free_bytes)) is not None:
            small.append((size, self._peak(setup.with_micro(size))))
        peak, slope = on_line(small, micro, self._free_bytes)
        run = self._tried.get(setup.with_micro(micro))
        peak, known = (peak, "estimated") if run is None else (run, "measured")
        lines = (
            Line("the process with framework, weights and optimizer", int(peak - slope * micro), "measured"),
            Line(f"activations and temporaries of {micro} pictures at once", int(slope * micro), known),  # type: ignore[arg-type]
        )
        total = sum(line.bytes for line in lines)
        return Account(lines, account.METHODS["line" if run is None else "run"], total, 0)

    def _peak(self, setup: Setup) -> int:
        if setup not in self._tried:
            self._tried[setup] = self._once(setup)
        return self._tried[setup]

    def _once(self, setup: Setup) -> int:
        self.say(f"{setup.short()}: trying it on this machine")
        found = try_once(setup, python=self.python)
        return max(found["first_bytes"], found["steps_bytes"])


TRIED = (2, 8)
LARGEST_TRIED = 256
CONFIRMING_RUNS = 2  # of what fits by the line; the higher counts, as the pool does not always grow alike
TELLING_BYTES = 512 << 20  # more than the peaks of two equal runs were seen to differ by
HIDDEN_BYTES = 256 << 20  # by which a peak that pictures have no part in was seen to differ between runs


def next_size(tried: list[tuple[int, int]], free_bytes: int) -> int | None:
    """The next micro-batch to try, after (micro-batch, peak) so far; None once the last two show the slope.

    Compiling, and the update of the weights, take more than a few pictures do, and hide theirs: a line through one of
    those and one that shows would be too flat. A micro-batch twice as large takes at most twice as much.
    """
    if len(tried) < len(TRIED):
        return TRIED[len(tried)]
    few, more = tried[0][1], tried[1][1]
    if len(tried) == len(TRIED):
        return third_size(few, more, free_bytes)
    size, peak = tried[-1]
    if _shown(tried, free_bytes) or size >= LARGEST_TRIED or 2 * peak > free_bytes:
        return None
    return min(LARGEST_TRIED, 2 * size)


def third_size(few: int, more: int, free_bytes: int) -> int:
    """A micro-batch that may show the slope, and not take half of what is free even if most of it is hidden yet."""
    pictures = TRIED[1] - TRIED[0]
    each = max((more - few) / pictures, 1 << 20)
    at_most_each = max(0, more - few + HIDDEN_BYTES) / pictures + 1
    wanted = max(TRIED[1] + 4, TRIED[1] + int(_room(free_bytes) / each))
    safe = max(TRIED[1] + 1, TRIED[1] + int(max(0, free_bytes) / 2 / at_most_each))
    return min(LARGEST_TRIED // 4, wanted, safe)


def on_line(tried: list[tuple[int, int]], micro: int, free_bytes: int) -> tuple[float, float]:
    """The peak of a micro-batch, and the slope: by the last two that were tried, and not under the first.

    Where they do not show the slope, the peak of the last one is taken to be all pictures: more it cannot grow by.
    """
    (before, at_before), (last, at_last) = tried[-2:]
    if not _shown(tried, free_bytes):
        peak = at_last * max(1.0, micro / last)
        return peak, max(0.0, peak - tried[0][1]) / micro
    slope = max(0.0, (at_last - at_before) / (last - before))
    return max(tried[0][1], at_last + slope * (micro - last)), slope


def _shown(tried: list[tuple[int, int]], free_bytes: int) -> bool:
    """Whether the last two lie clearly above the first two."""
    floor = max(peak for _, peak in tried[: len(TRIED)])
    return len(tried) > len(TRIED) + 1 and tried[-2][1] - floor >= _room(free_bytes) / 2


def _room(free_bytes: int) -> int:
    return min(TELLING_BYTES, max(0, free_bytes) // 4)


def try_once(setup: Setup, *, python: str = sys.executable, prefix: tuple[str, ...] = ()) -> dict[str, int]:
    """A few steps of the setup in a process of its own; NoAnswer when it did not come through."""
    question = {"setup": setup.as_json()}
    reply = ask_process("holdfast.memory.trial", question=question, python=python, prefix=prefix)
    if reply.exit_code or reply.answer is None:
        raise NoAnswer(
            "a trial of the training step did not finish",
            where=setup.short(),
            found=reply.ending + (f": {reply.last_line}" if reply.last_line else ""),
        )
    found: dict[str, int] = reply.answer
    return found
