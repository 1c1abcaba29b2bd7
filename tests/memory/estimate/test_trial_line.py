"""The line through small trials."""

from __future__ import annotations

from holdfast.memory.estimate.trial_line import (
    extrapolate_peak,
    next_trial_size,
    third_trial_size,
)


def test_the_third_trial_is_large_enough_to_show_the_slope_and_small_enough_for_the_machine():
    mib = 2**20
    assert third_trial_size(1100 * mib, 1160 * mib, 20 << 30) == 8 + 51  # ten MiB per image: half a GiB more
    assert third_trial_size(1100 * mib, 1100 * mib, 20 << 30) == 64  # hidden behind the compiler's peak
    assert third_trial_size(2000 * mib, 5000 * mib, 20 << 30) == 12
    # of one GiB half is 512 MiB, and with 256 hidden an image may take (60 + 256) / 6 MiB
    assert third_trial_size(1100 * mib, 1160 * mib, 1 << 30) == 8 + 9


def test_trials_go_on_until_two_of_them_show_what_images_take():
    mib, free = 2**20, 20 << 30
    tried = []
    # 18 MiB per image by the first two, then little, since the update of the weights takes more
    for size, peak in ((2, 2490), (8, 2598), (36, 2600), (72, 3100), (144, 4400)):
        assert next_trial_size(tried, free) == size
        tried.append((size, peak * mib))
    assert next_trial_size(tried, free) is None
    # by the last two: 1300 MiB for 72 images
    peak, slope = extrapolate_peak(tried, 180, free)
    assert (peak / mib, slope * 72 / mib) == (4400 + 1300 / 2, 1300)
    assert extrapolate_peak(tried, 1, free)[0] == 2490 * mib  # never under the first


def test_trials_end_at_the_largest_and_before_the_machine_is_full():
    assert next_trial_size([(2, 1), (8, 1), (64, 1), (128, 1)], 20 << 30) == 256
    assert next_trial_size([(2, 1), (8, 1), (64, 1), (128, 1), (256, 1)], 20 << 30) is None
    assert next_trial_size([(2, 2 << 30), (8, 2 << 30), (20, 3 << 30)], 5 << 30) is None


def test_where_the_slope_never_showed_all_of_the_last_peak_counts_as_images():
    tried = [(2, 2 << 30), (8, 2 << 30), (20, 3 << 30)]
    assert extrapolate_peak(tried, 40, 5 << 30)[0] == 6 << 30
    assert extrapolate_peak(tried, 10, 5 << 30)[0] == 3 << 30  # not above the larger one, which was measured
