"""Estimates the memory of training steps by the best method available: compiled, else liveness, else a count; on the
CPU by trials."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.host.process_limits import free_memory_bytes
from holdfast.memory import breakdown
from holdfast.memory.breakdown import MemoryBreakdown, MemoryItem, ValueBasis
from holdfast.memory.estimate import parameter_count, prediction_cache
from holdfast.memory.estimate.aot_compile import NoCompiler
from holdfast.memory.estimate.prediction_cache import PredictionCache, PredictionFailed
from holdfast.memory.estimate.trial_line import Trial, extrapolate_peak, next_trial_size
from holdfast.memory.gpu_catalogue import GpuSpec
from holdfast.memory.step_config import StepConfig
from holdfast.subprocess_json import ask as ask_process

PrintLine = Callable[[str], None]
OnLiveness = Callable[
    [tuple[int, int], MemoryBreakdown], None
]  # batch and micro-batch, before it is compiled
CONFIRMING_RUNS = (
    2  # of what fits by the line; the higher peak counts, as the pool does not always grow alike
)


class GpuEstimator:
    """For a GPU. A method that failed because a package is missing is not tried again."""

    def __init__(
        self,
        gpu: GpuSpec,
        cache: PredictionCache,
        *,
        correction_bytes: int = 0,
        compiles: bool = True,
        print_line: PrintLine = lambda _: None,
        on_liveness: OnLiveness | None = None,
    ) -> None:
        self._on_liveness = on_liveness
        self.gpu, self.cache, self.correction_bytes = gpu, cache, correction_bytes
        self.compiles, self.print_line = compiles, print_line
        self.compile_error: HoldfastError | None = None  # why the best method was not used
        self.liveness_error: HoldfastError | None = None  # why not even liveness

    def __call__(self, config: StepConfig, micro_batches: list[int]) -> list[MemoryBreakdown]:
        self.print_line(f"{config.label()}: micro-batches of {', '.join(map(str, micro_batches))}")
        if self.liveness_error is not None:
            return self._counted(config, micro_batches)
        try:
            answers = self._predict(config, [(config.batch, micro) for micro in micro_batches])
        except PredictionFailed as error:
            self.compile_error = self.liveness_error = error
            return self._counted(config, micro_batches)
        method = "compiled" if "compiled" in answers[0] else "liveness"
        return [
            breakdown.device_breakdown(
                answer,
                self.gpu,
                method=method,
                correction_bytes=self.correction_bytes,
                backend=config.backend,
            )
            for answer in answers
        ]

    def _predict(self, config: StepConfig, pairs: list[tuple[int, int]]) -> list[dict[str, Any]]:
        if self.compiles and self.compile_error is None:
            try:
                return self.cache.predict(config, pairs, self.gpu, on_liveness=self._early(config))
            except NoCompiler as error:
                self.compile_error = error
        return self.cache.predict(config, pairs, None)

    def _early(self, config: StepConfig) -> prediction_cache.OnLiveness | None:
        report = self._on_liveness
        if report is None:
            return None
        return lambda sizes, answer: report(
            sizes, breakdown.device_breakdown(answer, self.gpu, method="liveness", backend=config.backend)
        )

    def _counted(self, config: StepConfig, micro_batches: list[int]) -> list[MemoryBreakdown]:
        counted = prediction_cache.count_weights(config, python=self.cache.python)
        return [parameter_count.counted_breakdown(counted, config)] * len(micro_batches)


class CpuTrialEstimator:
    """For this machine's CPU: runs small micro-batches and extrapolates by a line (`trial_line`). What fits by the line
    is run too: the framework's memory pool grows in steps, which no line shows."""

    def __init__(
        self, memory_bytes: int, *, print_line: PrintLine = lambda _: None, python: str = sys.executable
    ) -> None:
        self.print_line, self.python = print_line, python
        # Read once: with another value other sizes would be tried each time.
        self._free_bytes = free_memory_bytes()
        self._memory_bytes = min(memory_bytes, self._free_bytes)
        self._trial_peaks: dict[StepConfig, int] = {}

    def __call__(self, config: StepConfig, micro_batches: list[int]) -> list[MemoryBreakdown]:
        return [self._confirmed_breakdown(config, micro) for micro in micro_batches]

    def _confirmed_breakdown(self, config: StepConfig, micro: int) -> MemoryBreakdown:
        estimate, single = self.extrapolated(config, micro), config.with_micro_batch(micro)
        tried = [trial.micro_batch for trial in self._trial_peaks if trial.with_micro_batch(micro) == single]
        larger_fits = any(size >= micro and self._fits(config, size) for size in tried)
        if micro in tried or larger_fits or estimate.total_bytes > self._memory_bytes:
            return estimate
        try:
            self._trial_peaks[single] = max(self._run_trial(single) for _ in range(CONFIRMING_RUNS))
        except PredictionFailed as error:  # the small ones finished
            self.print_line(
                f"a micro-batch of {micro} did not finish here ({', '.join(error.found)}): it does not fit"
            )
            self._trial_peaks[single] = max(estimate.total_bytes, 2 * self._memory_bytes)
        return self.extrapolated(config, micro)

    def _fits(self, config: StepConfig, micro: int) -> bool:
        return self.extrapolated(config, micro).fits(self._memory_bytes) == "fits"

    def extrapolated(self, config: StepConfig, micro: int) -> MemoryBreakdown:
        """By the line, or measured if this micro-batch was run."""
        trials: list[Trial] = []
        while (size := next_trial_size(trials, self._free_bytes)) is not None:
            trials.append((size, self._trial_peak(config.with_micro_batch(size))))
        peak, slope = extrapolate_peak(trials, micro, self._free_bytes)
        measured = self._trial_peaks.get(config.with_micro_batch(micro))
        basis: ValueBasis = "estimated" if measured is None else "measured"
        images_bytes = int(slope * micro)
        base_bytes = int((peak if measured is None else measured) - slope * micro)
        items = (
            MemoryItem("the process with framework, weights and optimizer", base_bytes, "measured"),
            MemoryItem(f"activations and temporaries of {micro} images", images_bytes, basis),
        )
        method = breakdown.METHODS["line" if measured is None else "run"]
        return MemoryBreakdown(items, method, base_bytes + images_bytes, 0)

    def _trial_peak(self, config: StepConfig) -> int:
        if config not in self._trial_peaks:
            self._trial_peaks[config] = self._run_trial(config)
        return self._trial_peaks[config]

    def _run_trial(self, config: StepConfig) -> int:
        self.print_line(f"{config.label()}: trial run on this machine")
        peaks = run_trial(config, python=self.python)
        return max(peaks["first_bytes"], peaks["steps_bytes"])


def run_trial(
    config: StepConfig, *, python: str = sys.executable, prefix: tuple[str, ...] = ()
) -> dict[str, int]:
    """A few steps in a process of its own. Raises PredictionFailed when it does not finish."""
    question = {"setup": config.as_json()}
    reply = ask_process("holdfast.memory.estimate.cpu_trial", question=question, python=python, prefix=prefix)
    if reply.exit_code or reply.answer is None:
        raise PredictionFailed(
            "a trial of the training step did not finish",
            where=config.label(),
            found=reply.ending + (f": {reply.last_line}" if reply.last_line else ""),
        )
    peaks: dict[str, int] = reply.answer
    return peaks
