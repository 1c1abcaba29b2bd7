"""Accounts for setups by the best method that works here: compiled, else liveness, else a plain count."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.host.process_limits import free_memory_bytes
from holdfast.memory import breakdown
from holdfast.memory.breakdown import MemoryBreakdown, MemoryItem
from holdfast.memory.estimate import parameter_count, prediction_cache
from holdfast.memory.estimate.aot_compile import NoCompiler
from holdfast.memory.estimate.prediction_cache import PredictionCache, PredictionFailed
from holdfast.memory.gpu_catalogue import GpuSpec
from holdfast.memory.step_config import StepConfig
from holdfast.subprocess_json import ask as ask_process

PrintLine = Callable[[str], None]


class GpuEstimator:
    """Prices setups for a card. Once a better method has failed for want of a package, it is not tried again."""

    def __init__(
        self,
        card: GpuSpec,
        memory: PredictionCache,
        *,
        correction_bytes: int = 0,
        compiles: bool = True,
        say: PrintLine = lambda _: None,
    ) -> None:
        self.card, self.memory, self.correction_bytes, self.say = card, memory, correction_bytes, say
        self.compiles = compiles
        self.missing: HoldfastError | None = None  # why the best method was not used
        self.counting: HoldfastError | None = None  # why not even liveness

    def __call__(self, setup: StepConfig, micro_batches: list[int]) -> list[MemoryBreakdown]:
        pairs = [(setup.batch, micro) for micro in micro_batches]
        card = self.card if self.compiles and not self.missing else None
        self.say(f"{setup.short()}: micro-batches of {', '.join(map(str, micro_batches))}")
        if self.counting is not None:
            return self._counted(setup, micro_batches)
        try:
            answers = self._answers(setup, pairs, card)
        except PredictionFailed as error:
            self.missing = self.counting = error
            return self._counted(setup, micro_batches)
        method = "compiled" if "compiled" in answers[0] else "liveness"
        return [
            breakdown.device_breakdown(
                one, self.card, method=method, correction_bytes=self.correction_bytes, backend=setup.backend
            )
            for one in answers
        ]

    def _answers(
        self, setup: StepConfig, pairs: list[tuple[int, int]], card: GpuSpec | None
    ) -> list[dict[str, Any]]:
        try:
            return self.memory.answers(setup, pairs, card)
        except NoCompiler as error:
            self.missing = error
            return self.memory.answers(setup, pairs, None)

    def _counted(self, setup: StepConfig, micro_batches: list[int]) -> list[MemoryBreakdown]:
        found = parameter_count.counted_breakdown(
            prediction_cache.count_weights(setup, python=self.memory.python), setup
        )
        return [found for _ in micro_batches]


class CpuTrialEstimator:
    """Prices setups for this machine's processor, by running small ones and drawing a line through them. What fits by
    that line is run too: the framework's pool of memory grows in steps, which no line shows."""

    def __init__(
        self, memory_bytes: int, *, say: PrintLine = lambda _: None, python: str = sys.executable
    ) -> None:
        self.say, self.python = say, python
        # Once: with another figure another third would be tried each time.
        self._free_bytes = free_memory_bytes()
        self._memory_bytes = min(memory_bytes, self._free_bytes)
        self._tried: dict[StepConfig, int] = {}

    def __call__(self, setup: StepConfig, micro_batches: list[int]) -> list[MemoryBreakdown]:
        return [self._confirmed(setup, micro) for micro in micro_batches]

    def _confirmed(self, setup: StepConfig, micro: int) -> MemoryBreakdown:
        drawn, asked = self.drawn(setup, micro), setup.with_micro(micro)
        ran = [one.micro_batch for one in self._tried if one.with_micro(micro) == asked]
        known = any(size >= micro and self._fits(setup, size) for size in ran)
        if micro in ran or known or drawn.total_bytes > self._memory_bytes:
            return drawn
        try:
            self._tried[asked] = max(self._once(asked) for _ in range(CONFIRMING_RUNS))
        except PredictionFailed as error:  # the small ones came through
            self.say(f"{micro} at once did not come through here ({', '.join(error.found)}): it does not fit")
            self._tried[asked] = max(drawn.total_bytes, 2 * self._memory_bytes)
        return self.drawn(setup, micro)

    def _fits(self, setup: StepConfig, micro: int) -> bool:
        return self.drawn(setup, micro).judge(self._memory_bytes) == "fits"

    def drawn(self, setup: StepConfig, micro: int) -> MemoryBreakdown:
        """By the line, unless it was run."""
        small: list[tuple[int, int]] = []
        while (size := next_trial_size(small, self._free_bytes)) is not None:
            small.append((size, self._peak(setup.with_micro(size))))
        peak, slope = extrapolate_peak(small, micro, self._free_bytes)
        run = self._tried.get(setup.with_micro(micro))
        peak, known = (peak, "estimated") if run is None else (run, "measured")
        lines = (
            MemoryItem(
                "the process with framework, weights and optimizer", int(peak - slope * micro), "measured"
            ),
            MemoryItem(f"activations and temporaries of {micro} pictures at once", int(slope * micro), known),  # type: ignore[arg-type]
        )
        total = sum(line.bytes for line in lines)
        return MemoryBreakdown(lines, breakdown.METHODS["line" if run is None else "run"], total, 0)

    def _peak(self, setup: StepConfig) -> int:
        if setup not in self._tried:
            self._tried[setup] = self._once(setup)
        return self._tried[setup]

    def _once(self, setup: StepConfig) -> int:
        self.say(f"{setup.short()}: trying it on this machine")
        found = run_trial(setup, python=self.python)
        return max(found["first_bytes"], found["steps_bytes"])


FIRST_TRIAL_SIZES = (2, 8)
LARGEST_TRIAL_SIZE = 256
CONFIRMING_RUNS = 2  # of what fits by the line; the higher counts, as the pool does not always grow alike
SIGNIFICANT_BYTES = 512 << 20  # more than the peaks of two equal runs were seen to differ by
HIDDEN_BYTES = 256 << 20  # by which a peak that pictures have no part in was seen to differ between runs


def next_trial_size(tried: list[tuple[int, int]], free_bytes: int) -> int | None:
    """The next micro-batch to try, after (micro-batch, peak) so far; None once the last two show the slope.

    Compiling, and the update of the weights, take more than a few pictures do, and hide theirs: a line through one of
    those and one that shows would be too flat. A micro-batch twice as large takes at most twice as much.
    """
    if len(tried) < len(FIRST_TRIAL_SIZES):
        return FIRST_TRIAL_SIZES[len(tried)]
    few, more = tried[0][1], tried[1][1]
    if len(tried) == len(FIRST_TRIAL_SIZES):
        return third_trial_size(few, more, free_bytes)
    size, peak = tried[-1]
    if _slope_is_clear(tried, free_bytes) or size >= LARGEST_TRIAL_SIZE or 2 * peak > free_bytes:
        return None
    return min(LARGEST_TRIAL_SIZE, 2 * size)


def third_trial_size(few: int, more: int, free_bytes: int) -> int:
    """A micro-batch that may show the slope, and not take half of what is free even if most of it is hidden yet."""
    pictures = FIRST_TRIAL_SIZES[1] - FIRST_TRIAL_SIZES[0]
    each = max((more - few) / pictures, 1 << 20)
    at_most_each = max(0, more - few + HIDDEN_BYTES) / pictures + 1
    wanted = max(FIRST_TRIAL_SIZES[1] + 4, FIRST_TRIAL_SIZES[1] + int(_significant_rise(free_bytes) / each))
    safe = max(FIRST_TRIAL_SIZES[1] + 1, FIRST_TRIAL_SIZES[1] + int(max(0, free_bytes) / 2 / at_most_each))
    return min(LARGEST_TRIAL_SIZE // 4, wanted, safe)


def extrapolate_peak(tried: list[tuple[int, int]], micro: int, free_bytes: int) -> tuple[float, float]:
    """The peak of a micro-batch, and the slope: by the last two that were tried, and not under the first.

    Where they do not show the slope, the peak of the last one is taken to be all pictures: more it cannot grow by.
    """
    (before, at_before), (last, at_last) = tried[-2:]
    if not _slope_is_clear(tried, free_bytes):
        peak = at_last * max(1.0, micro / last)
        return peak, max(0.0, peak - tried[0][1]) / micro
    slope = max(0.0, (at_last - at_before) / (last - before))
    return max(tried[0][1], at_last + slope * (micro - last)), slope


def _slope_is_clear(tried: list[tuple[int, int]], free_bytes: int) -> bool:
    """Whether the last two lie clearly above the first two."""
    floor = max(peak for _, peak in tried[: len(FIRST_TRIAL_SIZES)])
    return (
        len(tried) > len(FIRST_TRIAL_SIZES) + 1 and tried[-2][1] - floor >= _significant_rise(free_bytes) / 2
    )


def _significant_rise(free_bytes: int) -> int:
    return min(SIGNIFICANT_BYTES, max(0, free_bytes) // 4)


def run_trial(
    setup: StepConfig, *, python: str = sys.executable, prefix: tuple[str, ...] = ()
) -> dict[str, int]:
    """A few steps of the setup in a process of its own; NoAnswer when it did not come through."""
    question = {"setup": setup.as_json()}
    reply = ask_process("holdfast.memory.estimate.cpu_trial", question=question, python=python, prefix=prefix)
    if reply.exit_code or reply.answer is None:
        raise PredictionFailed(
            "a trial of the training step did not finish",
            where=setup.short(),
            found=reply.ending + (f": {reply.last_line}" if reply.last_line else ""),
        )
    found: dict[str, int] = reply.answer
    return found
