"""The search for the micro-batch, over made-up prices."""

from __future__ import annotations

from dataclasses import replace

from holdfast.memory.breakdown import METHODS, MemoryBreakdown, MemoryItem
from holdfast.memory.estimate import estimators
from holdfast.memory.estimate.estimators import (
    CpuTrialEstimator,
    extrapolate_peak,
    next_trial_size,
    third_trial_size,
)
from holdfast.memory.estimate.prediction_cache import PredictionFailed
from holdfast.memory.memory_plan import make_plan, reductions
from holdfast.memory.micro_batch_search import divisors, largest_micro_batch
from holdfast.memory.step_config import StepConfig

SURE = replace(METHODS["compiled"], low=1.0, high=1.0, more_bytes=0)
SETUP = StepConfig("retinanet", "resnet50", 640, 80, 100, batch=24, micro_batch=24)


class Prices:
    """So much a picture, and which micro-batches were asked for."""

    def __init__(self, base=100, each=10, odd=None):
        self.base, self.each, self.odd, self.asked = base, each, odd or {}, []

    def __call__(self, sizes):
        self.asked += sizes
        totals = [self.odd.get(size, self.base + self.each * size) for size in sizes]
        return [MemoryBreakdown((MemoryItem("all", total, "counted"),), SURE, total, 0) for total in totals]


def test_micro_batches_divide_the_batch():
    assert divisors(24) == [1, 2, 3, 4, 6, 8, 12, 24]


def test_a_batch_that_fits_whole_is_priced_once():
    prices = Prices()
    assert largest_micro_batch(24, 1000, prices).micro_batch == 24
    assert prices.asked == [24]
    assert largest_micro_batch(1, 105, Prices()).micro_batch is None


def test_two_give_the_line_and_the_chosen_one_is_priced_itself():
    prices = Prices()
    found = largest_micro_batch(24, 230, prices)
    assert (found.micro_batch, found.account.total_bytes) == (12, 220)
    assert prices.asked == [24, 1, 12]


def test_what_leaves_the_line_upwards_is_stepped_down_from():
    found = largest_micro_batch(24, 230, Prices(odd={12: 250}))
    assert found.micro_batch == 8


def test_what_leaves_it_downwards_is_looked_at_when_near():
    found = largest_micro_batch(24, 336, Prices(odd={24: 330}))
    assert found.micro_batch == 24


def test_one_picture_that_does_not_fit_is_said_with_its_size():
    found = largest_micro_batch(24, 105, Prices())
    assert found.micro_batch is None
    assert found.account.total_bytes == 110


def test_a_prime_batch_is_one_by_one_or_whole():
    assert largest_micro_batch(13, 10_000, Prices()).micro_batch == 13
    assert largest_micro_batch(13, 120, Prices()).micro_batch == 1


def test_the_ladder_goes_from_least_harm_to_most():
    rungs = [str(changes[-1]) for _, changes in reductions(SETUP, half="bfloat16")[1:]]
    assert rungs == [
        'train.precision = "bfloat16"', "train.rematerialise = true", "model.input = 512",
        "model.input = 384", "model.input = 320", 'model.backbone = "mobilenet_v2"',
    ]  # fmt: skip


def test_a_change_of_the_picture_replaces_the_one_before():
    setup, changes = reductions(SETUP, half="float16")[-1]
    assert [str(one) for one in changes if one.setting == "model.input"] == ["model.input = 320"]
    assert setup.precision == "float16"


def priced(setup, sizes):
    """Half for half precision, a third less rematerialised, by the square of the side."""
    each = (setup.input / 640) ** 2 * 100
    each *= 0.5 if setup.precision == "bfloat16" else 1.0
    each *= 0.6 if setup.rematerialise else 1.0
    return Prices(base=50, each=int(each))(sizes)


def test_what_fits_is_left_as_it_is():
    made = make_plan(SETUP, 50 + 2400, priced)
    assert made.chosen is not None
    assert made.chosen.changes == ()
    assert made.chosen.setup.accumulations == 1


def test_a_smaller_micro_batch_comes_first():
    made = make_plan(SETUP, 50 + 850, priced)
    assert [str(one) for one in made.chosen.changes] == ["train.micro_batch = 8"]
    assert made.chosen.setup.accumulations == 3


def test_then_half_precision_then_rematerialisation():
    assert [str(one) for one in make_plan(SETUP, 101, priced).chosen.changes] == [
        'train.precision = "bfloat16"',
        "train.micro_batch = 1",
    ]
    made = make_plan(SETUP, 85, priced)
    assert [str(one) for one in made.chosen.changes[:2]] == [
        'train.precision = "bfloat16"',
        "train.rematerialise = true",
    ]
    assert [option.answer for option in made.tried] == ["does-not-fit", "does-not-fit", "fits"]


def test_nothing_fits_into_nothing():
    made = make_plan(SETUP, 10, priced)
    assert made.chosen is None
    assert len(made.tried) == 7


def test_the_third_trial_is_large_enough_to_show_the_slope_and_small_enough_for_the_machine():
    mib = 2**20
    assert third_trial_size(1100 * mib, 1160 * mib, 20 << 30) == 8 + 51  # ten MiB a picture: half a GiB more
    assert third_trial_size(1100 * mib, 1100 * mib, 20 << 30) == 64  # hidden behind the compiler's peak
    assert third_trial_size(2000 * mib, 5000 * mib, 20 << 30) == 12
    # of one GiB half is 512 MiB, and with 256 hidden a picture may take (60 + 256) / 6 MiB
    assert third_trial_size(1100 * mib, 1160 * mib, 1 << 30) == 8 + 9


def test_trials_go_on_until_two_of_them_show_what_pictures_take():
    mib, free = 2**20, 20 << 30
    tried = []
    # 18 MiB a picture by the first two, then little, since the update of the weights takes more
    for size, peak in ((2, 2490), (8, 2598), (36, 2600), (72, 3100), (144, 4400)):
        assert next_trial_size(tried, free) == size
        tried.append((size, peak * mib))
    assert next_trial_size(tried, free) is None
    # by the last two: 1300 MiB for 72 pictures
    peak, slope = extrapolate_peak(tried, 180, free)
    assert (peak / mib, slope * 72 / mib) == (4400 + 1300 / 2, 1300)
    assert extrapolate_peak(tried, 1, free)[0] == 2490 * mib  # never under the first


def test_trials_end_at_the_largest_and_before_the_machine_is_full():
    assert next_trial_size([(2, 1), (8, 1), (64, 1), (128, 1)], 20 << 30) == 256
    assert next_trial_size([(2, 1), (8, 1), (64, 1), (128, 1), (256, 1)], 20 << 30) is None
    assert next_trial_size([(2, 2 << 30), (8, 2 << 30), (20, 3 << 30)], 5 << 30) is None


def test_where_the_slope_never_showed_all_of_the_last_peak_counts_as_pictures():
    tried = [(2, 2 << 30), (8, 2 << 30), (20, 3 << 30)]
    assert extrapolate_peak(tried, 40, 5 << 30)[0] == 6 << 30
    assert extrapolate_peak(tried, 10, 5 << 30)[0] == 3 << 30  # not above the larger one, which was seen


POOLED = StepConfig("ssd", "mobilenet_v2", 128, 20, 20, batch=28, micro_batch=28, backend="tensorflow")


def trials(monkeypatch, memory_bytes, peak_of):
    """On a machine with 20 GiB free, whose steps take what `peak_of` says; and what was tried."""
    asked = []

    def once(setup, **_):
        asked.append(setup.micro_batch)
        return {"first_bytes": 0, "steps_bytes": peak_of(setup.micro_batch)}

    monkeypatch.setattr(estimators, "run_trial", once)
    monkeypatch.setattr(estimators, "free_memory_bytes", lambda: 20 << 30)
    return CpuTrialEstimator(memory_bytes), asked


def with_pool(micro):
    """100 MiB a picture, and the pool takes a region more for 14 to 20 of them."""
    return (1000 + 100 * micro + 700 * (14 <= micro <= 20)) << 20


def test_what_fits_by_the_line_is_run_and_a_pool_that_grew_makes_it_smaller(monkeypatch):
    priced, asked = trials(monkeypatch, 3 << 30, with_pool)
    made = make_plan(POOLED, 3 << 30, priced)
    assert asked == [2, 8, 13, 26, 14, 14]
    assert [str(one) for one in made.chosen.changes] == ["train.micro_batch = 7"]
    assert made.chosen.account.total_bytes == 1700 << 20  # 8 were run, and fitted
    assert priced(POOLED, [14])[0].method is METHODS["run"]


def test_what_does_not_fit_by_the_line_is_not_run(monkeypatch):
    priced, asked = trials(monkeypatch, 3 << 30, with_pool)
    assert priced(POOLED, [28])[0].judge(3 << 30) == "does-not-fit"
    assert 28 not in asked


def test_a_trial_that_the_kernel_ends_does_not_fit(monkeypatch):
    def killed_above_ten(micro):
        if micro == 14:
            raise PredictionFailed(
                "a trial of the step did not come to its end", where="here", found="exit code -9"
            )
        return (1000 + 100 * micro) << 20

    priced, _ = trials(monkeypatch, 3 << 30, killed_above_ten)
    assert priced(POOLED, [14])[0].judge(3 << 30) == "does-not-fit"
    assert make_plan(POOLED, 3 << 30, priced).chosen.setup.micro_batch == 7


def test_of_two_runs_of_what_fits_by_the_line_the_higher_counts(monkeypatch):
    peaks = iter([2400 << 20, 2900 << 20])
    priced, asked = trials(
        monkeypatch, 3 << 30, lambda micro: next(peaks) if micro == 14 else (1000 + 100 * micro) << 20
    )
    found = priced(POOLED, [14])[0]
    assert (asked[-2:], found.total_bytes, found.judge(3 << 30)) == ([14, 14], 2900 << 20, "too-close")
