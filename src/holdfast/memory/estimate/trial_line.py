"""Predicts the peak of a large micro-batch on the CPU from a few small trials, by a line. Pure.

    peak
      |                                  . 64   <- extrapolated, and then run itself if it fits
      |                            .  '
      |                      x 32            <- the last two trials give the slope: bytes per image
      |                .  '
      |          x 16                        <- clearly above the floor
      |  x 2 - x 8 - - - - - - - - -         <- the floor: compiling and the weight update, which hide the images
      +----------------------------------- micro-batch

Compiling a step and updating its weights take more memory than a few images do. So the first trials (2 and 8 images)
often have the same peak, and a line through one of them and one above the floor would be too flat. The micro-batch is
doubled until two trials are clearly above the floor; each trial takes at most twice as much as the one before, so none
takes more than what is free. Where memory ends the trials too early, all of the last peak is taken to be images: it
cannot grow faster than that.
"""

from __future__ import annotations

Trial = tuple[int, int]  # micro-batch, peak in bytes

FIRST_TRIAL_SIZES = (2, 8)
LARGEST_TRIAL_SIZE = 256
SIGNIFICANT_BYTES = 512 << 20  # more than the peaks of two equal runs differed by
HIDDEN_BYTES = 256 << 20  # by which the floor differed between runs


def next_trial_size(trials: list[Trial], free_bytes: int) -> int | None:
    """The next micro-batch to try; None once the last two trials show the slope, or a larger one might not fit."""
    if len(trials) < len(FIRST_TRIAL_SIZES):
        return FIRST_TRIAL_SIZES[len(trials)]
    if len(trials) == len(FIRST_TRIAL_SIZES):
        return third_trial_size(trials[0][1], trials[1][1], free_bytes)
    size, peak = trials[-1]
    if _slope_is_clear(trials, free_bytes) or size >= LARGEST_TRIAL_SIZE or 2 * peak > free_bytes:
        return None
    return min(LARGEST_TRIAL_SIZE, 2 * size)


def third_trial_size(first_peak: int, second_peak: int, free_bytes: int) -> int:
    """A micro-batch that may show the slope, and takes less than half of what is free even if the first two trials
    hid most of it."""
    first, second = FIRST_TRIAL_SIZES
    per_image = max((second_peak - first_peak) / (second - first), 1 << 20)
    max_per_image = max(0, second_peak - first_peak + HIDDEN_BYTES) / (second - first) + 1
    useful = max(second + 4, second + int(_significant_rise(free_bytes) / per_image))
    safe = max(second + 1, second + int(max(0, free_bytes) / 2 / max_per_image))
    return min(LARGEST_TRIAL_SIZE // 4, useful, safe)


def extrapolate_peak(trials: list[Trial], micro_batch: int, free_bytes: int) -> tuple[float, float]:
    """The peak of a micro-batch and the slope, by the last two trials; never below the first one."""
    (before, peak_before), (last, last_peak) = trials[-2:]
    if not _slope_is_clear(trials, free_bytes):
        peak = last_peak * max(1.0, micro_batch / last)
        return peak, max(0.0, peak - trials[0][1]) / micro_batch
    slope = max(0.0, (last_peak - peak_before) / (last - before))
    return max(trials[0][1], last_peak + slope * (micro_batch - last)), slope


def _slope_is_clear(trials: list[Trial], free_bytes: int) -> bool:
    """Whether the last two are clearly above the floor."""
    floor = max(peak for _, peak in trials[: len(FIRST_TRIAL_SIZES)])
    enough = len(trials) > len(FIRST_TRIAL_SIZES) + 1
    return enough and trials[-2][1] - floor >= _significant_rise(free_bytes) / 2


def _significant_rise(free_bytes: int) -> int:
    return min(SIGNIFICANT_BYTES, max(0, free_bytes) // 4)
