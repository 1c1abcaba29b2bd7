"""How memory grew: when, and with what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.explain.readings.growth import read_growth, when_killed
from holdfast.journal import vitals
from holdfast.journal.beats import Beat, Phase
from tests.explain.made import MIB


def _samples(sizes: list[int], **fields: list[object]) -> list[tuple[int, vitals.Sample]]:
    return [
        (
            number + 1,
            vitals.Sample(
                mono=float(number),
                rss_bytes=size * MIB,
                **{name: values[number] for name, values in fields.items()},
            ),
        )  # type: ignore[arg-type]
        for number, size in enumerate(sizes)
    ]


def test_growth_before_the_first_step() -> None:
    phases = ["build"] * 3 + ["fill"] * 7
    grown = read_growth(
        _samples([600] * 3 + [600 + 100 * n for n in range(7)], phase=phases, fit=[0] * 3 + [1] * 7)
    )
    assert (grown.when, grown.rise.bytes, grown.rise.steps) == ("before-first-step", 600 * MIB, 0)


def test_growth_at_every_step_has_its_slope() -> None:
    steps = [10 * n for n in range(41)]
    grown = read_growth(
        _samples(
            [600 + 20 * n for n in range(41)],
            phase=["step"] * 41,
            fit=[1] * 41,
            step=steps,
            epoch=[n // 10 for n in range(41)],
        )
    )
    assert grown.when == "every-step"
    assert grown.rise.per_step == 2 * MIB


def test_growth_in_the_first_epoch_only() -> None:
    sizes = [600 + 40 * min(n, 10) for n in range(41)]
    steps = [10 * n for n in range(41)]
    grown = read_growth(
        _samples(sizes, phase=["step"] * 41, fit=[1] * 41, step=steps, epoch=[n // 11 for n in range(41)])
    )
    assert grown.when == "first-epoch"


def test_growth_in_one_step_that_began_between_two_samples() -> None:
    """37 quick steps in a second, eight more, then one that stands for a second and takes almost everything."""
    sizes, steps = [621, 629, 634, 653, 1002, 1601], [0, 0, 0, 37, 45, 45]
    grown = read_growth(
        _samples(
            sizes, phase=["build", "compile", "compile", "step", "step", "step"], fit=[1] * 6, step=steps
        )
    )
    assert grown.when == "one-step"
    assert grown.rise.bytes == pytest.approx((1601 - 653 - 8 * 19 / 37) * MIB, abs=MIB)
    assert grown.rise.steps == 0


def test_slow_steps_that_each_take_their_share_are_not_one_step() -> None:
    """Two samples in every step, and each step keeps 100 MiB."""
    sizes = [600, 600, 700, 700, 800, 800, 900, 950]
    grown = read_growth(
        _samples(sizes, phase=["step"] * 8, fit=[1] * 8, step=[1, 1, 2, 2, 3, 3, 4, 4], epoch=[0] * 8)
    )
    assert grown.when != "one-step"


def _killed_within_a_second() -> tuple[list[tuple[int, vitals.Sample]], Beat]:
    """Everything loads within six looks; in the second after the last of them 345 quick steps keep 700 MiB."""
    samples = _samples(
        [350, 600, 900, 1000, 1111, 1126],
        phase=["import", "build", "compile", "compile", "compile", "step"],
        fit=[0, 0, 1, 1, 1, 1],
        step=[0, 0, 0, 0, 0, 3],
        pid=[7] * 6,
        memory_used_bytes=[n * MIB for n in (200, 300, 400, 500, 590, 606)],
        memory_limit_bytes=[1300 * MIB] * 6,
    )
    last = dict.fromkeys(Beat._fields, 0)
    return samples, Beat(**last | {"mono": 5.9, "pid": 7, "phase": Phase.STEP, "fit": 1, "step": 345})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("log", "size"),
    [
        (
            [
                "Killed process 7 (python) total-vm:3279988kB, anon-rss:1308672kB, file-rss:560128kB, shmem-rss:0kB"
            ],
            1825,
        ),
        (
            ["Killed process 8 (python) total-vm:3279988kB, anon-rss:1024kB, file-rss:0kB, shmem-rss:0kB"],
            1126 + 1300 - 606,
        ),
        ([], 1126 + 1300 - 606),
    ],
)
def test_the_moment_in_which_the_kernel_killed_it_counts_as_a_look(log: list[str], size: int) -> None:
    samples, beat = _killed_within_a_second()
    last = when_killed(samples[-1][1], beat, log, mono=6.1)
    assert last is not None
    assert (last.rss_bytes, last.step, last.mono) == (size * MIB, 345, 6.1)
    grown = read_growth(samples, at_death=last)
    assert grown.when == "first-epoch-so-far"
    assert grown.peak_bytes == size * MIB


def test_a_step_that_stands_when_it_is_killed_is_one_step() -> None:
    """At the last look it had stood for 0.7 s and taken half of what killed it half a second later."""
    samples = _samples(
        [628, 634, 653, 1357],
        phase=["compile", "compile", "step", "step"],
        fit=[1] * 4,
        step=[0, 0, 31, 45],
        beat_age_s=[0.0, 0.3, 0.0, 0.7],
        memory_used_bytes=[n * MIB for n in (253, 257, 267, 973)],
        memory_limit_bytes=[1500 * MIB] * 4,
    )
    grown = read_growth(samples, at_death=when_killed(samples[-1][1], None, [], mono=3.5))
    assert (grown.when, grown.peak_bytes) == ("one-step", (1357 + 1500 - 973) * MIB)


def test_looks_that_come_closer_near_the_end_do_not_make_growth_flat() -> None:
    """3 MiB a step to the end, seen once a second and then five times a second."""
    at = [0, 1, 2, 3, 4, 5, 6.0, 6.4, 6.6, 6.8]
    steps = [0, 0, 0, 32, 146, 268, 380, 424, 446, 468]
    samples = [
        (number + 1, replace(sample, mono=mono))
        for number, (mono, (_, sample)) in enumerate(
            zip(
                at,
                _samples([640 + 3 * step for step in steps], phase=["step"] * 10, fit=[1] * 10, step=steps),
                strict=True,
            )
        )
    ]
    grown = read_growth(samples)
    assert (grown.when, grown.flattened) == ("first-epoch-so-far", False)


def test_steps_that_become_slow_do_not_make_growth_flat() -> None:
    """4 MiB a step to the end; other processes take the CPU, and of the last seconds each has few steps."""
    steps = [0, 90, 180, 270, 300, 308, 316, 324, 332, 340, 348, 356]
    sizes = [400 + 4 * step for step in steps]
    grown = read_growth(_samples(sizes, phase=["step"] * 12, fit=[1] * 12, step=steps))
    assert (grown.when, grown.flattened) == ("first-epoch-so-far", False)
    full = [min(size, sizes[4]) for size in sizes]
    assert read_growth(_samples(full, phase=["step"] * 12, fit=[1] * 12, step=steps)).flattened


def test_steps_done_before_the_fit_was_first_seen_are_not_a_fill() -> None:
    grown = read_growth(
        _samples(
            [530, 624, 1438, 1546, 1655],
            phase=["import", "build", "between", "step", "between"],
            fit=[0, 0, 1, 1, 1],
            step=[0, 0, 113, 128, 144],
        )
    )
    assert (grown.when, grown.fill.bytes) == ("first-epoch-so-far", 0)


def test_what_did_not_grow_since_the_last_look_adds_nothing() -> None:
    samples, beat = _killed_within_a_second()
    log = ["Killed process 7 (python) total-vm:3279988kB, anon-rss:1024kB, file-rss:1024kB, shmem-rss:0kB"]
    assert when_killed(samples[-1][1], beat, log, mono=6.1) is None


def test_no_growth_is_no_growth() -> None:
    assert (
        read_growth(
            _samples([600, 610, 605, 612] * 10, phase=["step"] * 40, fit=[1] * 40, step=list(range(40)))
        ).when
        == "none"
    )
