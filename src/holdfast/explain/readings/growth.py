"""How the memory of a run grew: when, and with what. A pure reading of its vital signs.

The shape decides between causes that end alike: before the first step and then
flat is a buffer being filled, in the first epoch only is a cache, at every step is something kept,
once a fit is something rebuilt, in validation only is results collected, in children only is a fork's copies.
"""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.explain.readings.numbers import median
from holdfast.journal.beats import Beat
from holdfast.journal.vitals import Sample

# -- thresholds ---------------------------------------------------------------------------------------
# All are chosen: they separate the memory curves of the test programs, whose shapes are known. No measurement on runs
# of other people is behind them.

#: Growth that is worth showing, in bytes and as a share of the peak: an allocator and lazily loaded libraries wander by
#: less, and by more in a larger process.
_WORTH_SHOWING_BYTES, _WORTH_SHOWING_SHARE = 96 << 20, 0.05
#: Times by which workers must outgrow the main process, and validation the training steps, to be what grows.
_WORKERS_OVER_PARENT, _VALIDATION_OVER_TRAINING = 2, 2
#: Share of the whole growth in one place (validation, one step, one jump) that leaves no other place worth naming.
_NEARLY_ALL = 0.7
#: Share of the whole growth that a fill or a first epoch must have; less than _NEARLY_ALL, because the first steps
#: always take something too: optimizer slots, compiled programs.
_MOST = 0.6
#: Seconds of a fill above which one jump in it is a copy at the start of a fit; a short fill looks like a jump too.
_LONG_FILL_S = 3
#: Steps after a fill, and growth in them as a share of the fill, from which the steps are what was too much.
_STEPS_AFTER_FILL, _GREW_AFTER_FILL = 10, 0.3
#: Share of the first epoch's growth that no later epoch may reach where only the first one fills something.
_LATER_EPOCH = 0.3
#: Fits that make a loop, the share of them that must leave the process larger, and the share of the growth that must
#: come after the first, which alone loads libraries and compiles.
_LEAST_FITS, _RISING_FITS, _LATER_FITS = 3, 0.6, 0.4
#: Times as long as the steps before it from which a step takes far longer than usual.
_FAR_LONGER = 3
#: A curve is cut into so many stretches, at least three; it is steady when most of them rise by more than noise.
_STRETCHES, _LEAST_STRETCHES = 8, 3
_NOISE, _RISING_STRETCHES = 0.02, 0.7
#: Steps between two samples that give a growth a step, how many such there must be, and how alike they are: the
#: least is more than half of the largest.
_LEAST_STEPS, _LEAST_RATES, _ALIKE = 3, 3, 0.5
#: A curve has flattened when its last third rises by less than a tenth of what it rose before; of fewer than six
#: samples a third is only one.
_LEAST_SAMPLES, _LEAST_LATE, _FLAT = 6, 3, 0.1
#: Growth of a worker that is counted: less is its interpreter warming up.
_WORKER_GREW_BYTES = 4 << 20
#: Samples within one step from which a rise in it is not the step before or after it.
_SAMPLES_IN_STEP = 2

#: Samples with their lines in vitals.jsonl.
Looks = Sequence[tuple[int, Sample]]
_NOT_STEPPING = ("validation", "fill", "compile", "after", "exit")
_QUIET_PHASES = ("start", "import", "build", "")


class GrowthShape(enum.StrEnum):
    """When memory grew."""

    NONE = "none"  # nothing worth showing
    BEFORE_FIT = "before-fit"  # before training began
    BEFORE_FIRST_STEP = "before-first-step"  # while the first batch of a fit was awaited: a buffer is filled
    AT_FIT_ENTRY = "at-fit-entry"  # at once when a fit began
    FIRST_EPOCH = "first-epoch"  # in the first epoch and no more: a cache
    FIRST_EPOCH_SO_FAR = "first-epoch-so-far"  # in the first epoch, which is the only one
    EVERY_STEP = "every-step"  # at every step of all epochs: something is kept
    BETWEEN_FITS = "between-fits"  # from fit to fit: something is rebuilt
    IN_VALIDATION = "in-validation"  # while validating: results are collected
    IN_WORKERS = "in-workers"  # in the loader's processes: copies of a fork
    ONE_JUMP = "one-jump"  # between two samples
    ONE_STEP = "one-step"  # while one step was under way


#: While the first batch of a fit was awaited.
WHILE_FILLING = (GrowthShape.BEFORE_FIRST_STEP, GrowthShape.AT_FIT_ENTRY)


@dataclass(frozen=True, slots=True)
class Rise:
    """A rise between two samples."""

    bytes: int = 0
    first_line: int = 0
    last_line: int = 0
    steps: int = 0  # training steps in it
    seconds: float = 0.0

    @property
    def source(self) -> str:
        return f"vitals.jsonl:{self.first_line}-{self.last_line}"

    @property
    def per_step(self) -> float:
        return self.bytes / self.steps if self.steps else 0.0


@dataclass(frozen=True, slots=True)
class Growth:
    when: GrowthShape = GrowthShape.NONE
    rise: Rise = Rise()  # the one that `when` speaks of
    total: Rise = Rise()  # from the first sample in training (or the first of all) to the highest
    peak_bytes: int = 0
    last_step: int = 0
    fill: Rise = Rise()  # while the first batch of a fit was awaited
    training: Rise = Rise()  # at training steps
    validation: Rise = Rise()
    by_epoch: tuple[int, ...] = ()  # bytes gained in each
    by_fit: tuple[int, ...] = ()
    workers: Rise = Rise()
    worker_gains: tuple[int, ...] = ()  # of each that grew, the largest first
    steady: bool = False  # it rose in nearly every stretch
    flattened: bool = False  # it stopped rising well before the end
    largest_jump: Rise = Rise()
    in_step: Rise = Rise()  # the largest rise while one step, not the first, was under way


def read_growth(numbered: Looks, *, at_death: Sample | None = None) -> Growth:
    """`at_death` is what is known of the moment in which the kernel killed it: see `when_killed`."""
    samples = [(line, sample) for line, sample in numbered if sample.rss_bytes]
    if samples and at_death is not None:
        samples.append((samples[-1][0], at_death))
    peak_bytes = max((sample.rss_bytes for _, sample in samples), default=0)
    last_step = samples[-1][1].step if samples else 0
    if len(samples) < 2:
        return Growth(peak_bytes=peak_bytes, last_step=last_step)
    inside = [(line, s) for line, s in samples if s.phase not in _QUIET_PHASES or s.fit or s.step]
    if len(inside) < 2:
        inside = samples
    start = [pair for pair in samples if pair[0] < inside[0][0]][-1:] + inside
    highest = max(start, key=lambda pair: pair[1].rss_bytes)
    sizes = _by_the_clock(start)
    workers, gains = _workers(samples)
    grown = Growth(
        total=_rise(start[0], highest),
        peak_bytes=peak_bytes,
        last_step=last_step,
        fill=_fill(start),
        training=_while_training(start),
        validation=_while_validating(start),
        by_epoch=_gains(((s.fit, s.epoch), s.rss_bytes) for _, s in start if s.step),
        by_fit=_gains((s.fit, s.rss_bytes) for _, s in start if s.fit),
        workers=workers,
        worker_gains=gains,
        steady=_steady(sizes) or _same_at_every_step(start),
        flattened=_flattened(sizes) and not _late_steps_take_as_much(start),
        in_step=_in_one_step(start),
        largest_jump=_largest(_rise(a, b) for a, b in itertools.pairwise(start)),
    )
    when, rise = _shape(grown, inside)
    return replace(grown, when=when, rise=rise)


def when_killed(last: Sample, beat: Beat | None, kernel_log: Sequence[str], *, mono: float) -> Sample | None:
    """The sample that nobody took: of the moment in which the kernel killed for memory, later than the last one.

    The kernel writes down how large the process was. Where its log cannot be read, the group was at its limit,
    and what it lacked to that at the last look came since. None where it did not grow since.
    """
    size = _size_in(kernel_log, last.pid)
    if size is None and not last.processes and last.memory_limit_bytes and last.memory_used_bytes:
        size = last.rss_bytes + last.memory_limit_bytes - last.memory_used_bytes
    if size is None or size <= last.rss_bytes:
        return None
    killed = replace(last, rss_bytes=size, mono=max(mono, last.mono))
    if beat is None or beat.pid != last.pid or beat.mono < last.mono:
        return killed
    return replace(
        killed,
        beat_age_s=max(0.0, mono - beat.mono),
        phase=beat.phase.label,
        fit=beat.fit,
        epoch=beat.epoch,
        step=beat.step,
        train_batches=beat.train_batches,
        test_batches=beat.test_batches,
    )


def _size_in(kernel_log: Sequence[str], pid: int) -> int | None:
    for line in reversed(kernel_log):
        if re.search(rf"Killed process {pid}\b", line):
            sizes = re.findall(r"\b(?:anon|file|shmem)-rss:(\d+)kB", line)
            return sum(int(kib) for kib in sizes) << 10 or None
    return None


def _shape(grown: Growth, inside: Looks) -> tuple[GrowthShape, Rise]:
    """When it grew, and the rise that this speaks of."""
    total = max(grown.total.bytes, 1)
    worth = max(_WORTH_SHOWING_BYTES, int(_WORTH_SHOWING_SHARE * grown.peak_bytes))
    workers = grown.workers.bytes
    if workers > worth and workers > _WORKERS_OVER_PARENT * grown.total.bytes:
        return GrowthShape.IN_WORKERS, grown.workers
    if total < worth:
        return GrowthShape.NONE, grown.total
    validation, jump = grown.validation.bytes, grown.largest_jump.bytes
    if validation > _NEARLY_ALL * total and validation > _VALIDATION_OVER_TRAINING * grown.training.bytes:
        return GrowthShape.IN_VALIDATION, grown.validation
    if _rises_between_fits(grown):
        return GrowthShape.BETWEEN_FITS, grown.total
    if grown.fill.bytes > _MOST * total and not _went_on_at_the_steps(grown):
        sudden = jump > _NEARLY_ALL * grown.fill.bytes and grown.fill.seconds > _LONG_FILL_S
        return GrowthShape.AT_FIT_ENTRY if sudden else GrowthShape.BEFORE_FIRST_STEP, grown.fill
    if all(sample.step == 0 for _, sample in inside):
        in_fit = any(sample.fit for _, sample in inside)
        return GrowthShape.BEFORE_FIRST_STEP if in_fit else GrowthShape.BEFORE_FIT, grown.total
    if grown.in_step.bytes > _NEARLY_ALL * total:
        return GrowthShape.ONE_STEP, grown.in_step
    if jump > _NEARLY_ALL * total and not grown.steady:
        return GrowthShape.ONE_JUMP, grown.largest_jump
    return _shape_in_steps(grown, total), grown.total


def _went_on_at_the_steps(grown: Growth) -> bool:
    """Much was filled before the first step, and much came at the steps after it: the latter is what was too much."""
    after = grown.total.bytes - grown.fill.bytes
    return grown.total.steps >= _STEPS_AFTER_FILL and after > _GREW_AFTER_FILL * grown.fill.bytes


def _shape_in_steps(grown: Growth, total: int) -> GrowthShape:
    if len(grown.by_epoch) < 2:
        return GrowthShape.FIRST_EPOCH if grown.flattened else GrowthShape.FIRST_EPOCH_SO_FAR
    first, *later = grown.by_epoch
    mostly_first = first > _MOST * total
    if mostly_first and max(later) < _LATER_EPOCH * max(1, first):
        return GrowthShape.FIRST_EPOCH
    if grown.steady and not grown.flattened:
        return GrowthShape.EVERY_STEP
    if mostly_first:
        return GrowthShape.FIRST_EPOCH
    return GrowthShape.EVERY_STEP if grown.steady else GrowthShape.NONE


def _rises_between_fits(grown: Growth) -> bool:
    """At least three fits, and most of them left the process larger."""
    gains = grown.by_fit
    return (
        len(gains) >= _LEAST_FITS
        and sum(gain > 0 for gain in gains) >= _RISING_FITS * len(gains)
        and sum(gains[1:]) > _LATER_FITS * sum(gains)
    )


def _rise(first: tuple[int, Sample], last: tuple[int, Sample]) -> Rise:
    return Rise(
        bytes=last[1].rss_bytes - first[1].rss_bytes,
        first_line=first[0],
        last_line=last[0],
        steps=max(0, last[1].step - first[1].step),
        seconds=last[1].mono - first[1].mono,
    )


def _largest(rises: Iterable[Rise]) -> Rise:
    return max(rises, key=lambda rise: rise.bytes, default=Rise())


def _fill(samples: Looks) -> Rise:
    """The largest rise while a fit had not done a step yet."""
    rises = [Rise()]
    for fit in sorted({s.fit for _, s in samples}):
        own = [pair for pair in samples if pair[1].fit == fit]
        earlier = [pair for pair in samples if pair[0] < own[0][0]][-1:]
        begin = (earlier or own)[0][1].step  # a quick fit has done steps when first seen
        awaiting = [pair for pair in own if pair[1].phase not in ("validation", "after", "exit")]
        span = earlier + [pair for pair in awaiting if pair[1].step == begin]
        if len(span) > 1:
            rises.append(_rise(span[0], max(span, key=lambda pair: pair[1].rss_bytes)))
    return _largest(rises)


def _while_training(samples: Looks) -> Rise:
    """All gains between neighbouring samples in training, with no test batch between them."""
    apart = {"validation", "fill", "compile"}
    pairs = [(a, b) for a, b in itertools.pairwise(samples) if min(a[1].step, b[1].step) > 0]
    pairs = [(a, b) for a, b in pairs if b[1].test_batches <= a[1].test_batches]
    return _sum([_rise(a, b) for a, b in pairs if not {a[1].phase, b[1].phase} & apart])


def _while_validating(samples: Looks) -> Rise:
    """All gains while test batches moved. Where training moved too, validation's share is reckoned by its own rate."""
    moved = [
        (_rise(a, b), b[1].test_batches - a[1].test_batches, a[1].step == b[1].step)
        for a, b in itertools.pairwise(samples)
        if b[1].test_batches > a[1].test_batches
    ]
    alone = [(rise.bytes, batches) for rise, batches, pure in moved if pure]
    batches_alone = sum(batches for _, batches in alone)
    rate = max(0, sum(gain for gain, _ in alone)) / batches_alone if batches_alone else 0.0
    rises = [
        rise if pure else replace(rise, bytes=min(rise.bytes, int(rate * batches)))
        for rise, batches, pure in moved
    ]
    return replace(_sum(rises), steps=0)


def _sum(rises: list[Rise]) -> Rise:
    if not rises:
        return Rise()
    return Rise(
        bytes=sum(rise.bytes for rise in rises),
        first_line=rises[0].first_line,
        last_line=rises[-1].last_line,
        steps=sum(rise.steps for rise in rises),
        seconds=sum(rise.seconds for rise in rises),
    )


def _in_one_step(samples: Looks) -> Rise:
    """The largest rise while the count of steps stayed, after some steps had been done."""
    rises, begin = [Rise()], 0
    for at, (_, sample) in enumerate(samples):
        if sample.step != samples[begin][1].step or sample.phase in _NOT_STEPPING:
            begin = at
        elif sample.step > 1:
            rises += [_rise(samples[begin], samples[at])] if at - begin >= _SAMPLES_IN_STEP else []
            rises.append(_since_the_step_before(samples, begin, at))
    return _largest(rises)


def _since_the_step_before(samples: Looks, begin: int, at: int) -> Rise:
    """The rise from the sample before the last step, less what the steps in between took at the rate so far.

    Only for a step that takes far longer than those before it: of the slow steps of a leak each takes its share.
    """
    if begin < 2:
        return Rise()
    earlier, before = samples[begin - 2][1], samples[begin - 1][1]
    done, between = before.step - earlier.step, samples[begin][1].step - before.step
    stood = samples[at][1].mono - samples[begin][1].mono + (samples[begin][1].beat_age_s or 0.0)
    if done <= 0 or between <= 0 or before.phase in _NOT_STEPPING:
        return Rise()
    if stood < _FAR_LONGER * (before.mono - earlier.mono) / done:
        return Rise()
    usual = max(0, before.rss_bytes - earlier.rss_bytes) / done * between
    rise = _rise(samples[begin - 1], samples[at])
    return replace(rise, bytes=max(0, rise.bytes - int(usual)), steps=0)


def _gains(sizes: Iterable[tuple[Any, int]]) -> tuple[int, ...]:
    """What each part of a run gained over the end of the part before it."""
    parts: dict[Any, list[int]] = {}
    for part, size in sizes:
        parts.setdefault(part, []).append(size)
    ordered = [parts[part] for part in sorted(parts)]
    before = [own[0] for own in ordered[:1]] + [own[-1] for own in ordered[:-1]]
    return tuple(own[-1] - size for own, size in zip(ordered, before, strict=True))


def _by_the_clock(samples: Looks) -> list[int]:
    """As many sizes, at even distances in time: looks come closer together at the beginning and before the end."""
    first, last = samples[0][1].mono, samples[-1][1].mono
    sizes, at = [], 0
    for number in range(len(samples)):
        mono = first + (last - first) * number / max(1, len(samples) - 1)
        while at < len(samples) - 2 and samples[at + 1][1].mono <= mono:
            at += 1
        a, b = samples[at][1], samples[min(at + 1, len(samples) - 1)][1]
        part = (mono - a.mono) / (b.mono - a.mono) if b.mono > a.mono else 1.0
        sizes.append(round(a.rss_bytes + min(1.0, max(0.0, part)) * (b.rss_bytes - a.rss_bytes)))
    return sizes


def _steady(sizes: list[int]) -> bool:
    """It rose in at least three of four stretches, and no single stretch holds most of the rise."""
    stretches = min(_STRETCHES, len(sizes) - 1)
    if stretches < _LEAST_STRETCHES:
        return len(sizes) > 2 and all(b > a for a, b in itertools.pairwise(sizes))
    marks = [sizes[round(at * (len(sizes) - 1) / stretches)] for at in range(stretches + 1)]
    gains = [b - a for a, b in itertools.pairwise(marks)]
    rise = marks[-1] - marks[0]
    rising = sum(gain > _NOISE * rise for gain in gains)
    return rise > 0 and rising >= _RISING_STRETCHES * stretches and max(gains) < _NEARLY_ALL * rise


def _same_at_every_step(samples: Looks) -> bool:
    """Quick steps: between few looks many were done, and each of them took as much as the others."""
    rises = [_rise(a, b) for a, b in itertools.pairwise(samples)]
    rates = [rise.per_step for rise in rises if rise.steps >= _LEAST_STEPS]
    return len(rates) >= _LEAST_RATES and min(rates) > 0 and min(rates) > _ALIKE * max(rates)


def _flattened(sizes: list[int]) -> bool:
    if len(sizes) < _LEAST_SAMPLES:
        return False
    late = sizes[-max(_LEAST_LATE, len(sizes) // 3) :]
    early_rise = median(late) - sizes[0]
    return early_rise > 0 and max(late) - late[0] < _FLAT * early_rise


def _late_steps_take_as_much(samples: Looks) -> bool:
    """A busy machine makes steps slower: their memory rises more slowly by the clock, and as before by the step."""
    begin = len(samples) - max(_LEAST_LATE, len(samples) // 3)
    late = _rise(samples[max(0, begin)], samples[-1])
    earlier = [_rise(a, b) for a, b in itertools.pairwise(samples[: begin + 1])]
    rates = [rise.per_step for rise in earlier if rise.steps >= _LEAST_STEPS]
    return late.steps >= _LEAST_STEPS and bool(rates) and late.per_step > _ALIKE * median(rates)


def _workers(samples: Looks) -> tuple[Rise, tuple[int, ...]]:
    """The growth of all descendants' own memory, each from when it was first seen; and of each, the largest first."""
    sizes: dict[int, list[int]] = {}
    seen: list[tuple[int, Sample]] = []
    for line, sample in samples:
        for process in sample.processes:
            if process.private_bytes is not None:
                sizes.setdefault(process.pid, []).append(process.private_bytes)
                seen.append((line, sample))
    gains = sorted((max(own) - own[0] for own in sizes.values()), reverse=True)
    grown = tuple(gain for gain in gains if gain > _WORKER_GREW_BYTES)
    if not grown:
        return Rise(), ()
    (first_line, first), (last_line, last) = seen[0], seen[-1]
    return Rise(sum(grown), first_line, last_line, max(0, last.step - first.step)), grown
