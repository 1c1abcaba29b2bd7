"""What to change so that a step fits, with made-up estimates."""

from __future__ import annotations

from dataclasses import replace

from holdfast.memory.breakdown import METHODS, MemoryBreakdown, MemoryItem
from holdfast.memory.memory_plan import make_plan, reductions
from holdfast.memory.step_config import StepConfig

SURE = replace(METHODS["compiled"], low_factor=1.0, high_factor=1.0, extra_bytes=0)


SETUP = StepConfig("retinanet", "resnet50", 640, 80, 100, batch=24, micro_batch=24)


class Estimates:
    """`base` bytes and `each` per image; records the micro-batches that were estimated."""

    def __init__(self, base=100, each=10, odd=None):
        self.base, self.each, self.odd, self.asked = base, each, odd or {}, []

    def __call__(self, sizes):
        self.asked += sizes
        totals = [self.odd.get(size, self.base + self.each * size) for size in sizes]
        return [MemoryBreakdown((MemoryItem("all", total, "counted"),), SURE, total, 0) for total in totals]


def test_reductions_go_from_least_harm_to_most():
    changes = [str(reduced[-1]) for _, reduced in reductions(SETUP, half_precision="bfloat16")[1:]]
    assert changes == [
        'train.precision = "bfloat16"', "train.rematerialise = true", "model.input = 512",
        "model.input = 384", "model.input = 320", 'model.backbone = "mobilenet_v2"',
    ]  # fmt: skip


def test_a_smaller_input_replaces_the_one_before():
    setup, changes = reductions(SETUP, half_precision="float16")[-1]
    assert [str(one) for one in changes if one.setting == "model.input"] == ["model.input = 320"]
    assert setup.precision == "float16"


def estimate(setup, sizes):
    """Half for half precision, a third less rematerialised, by the square of the side."""
    each = (setup.input / 640) ** 2 * 100
    each *= 0.5 if setup.precision == "bfloat16" else 1.0
    each *= 0.6 if setup.rematerialise else 1.0
    return Estimates(base=50, each=int(each))(sizes)


def test_what_fits_is_left_as_it_is():
    made = make_plan(SETUP, 50 + 2400, estimate)
    assert made.chosen is not None
    assert made.chosen.changes == ()
    assert made.chosen.config.accumulations == 1


def test_a_smaller_micro_batch_comes_first():
    made = make_plan(SETUP, 50 + 850, estimate)
    assert [str(one) for one in made.chosen.changes] == ["train.micro_batch = 8"]
    assert made.chosen.config.accumulations == 3


def test_then_half_precision_then_rematerialisation():
    assert [str(one) for one in make_plan(SETUP, 101, estimate).chosen.changes] == [
        'train.precision = "bfloat16"',
        "train.micro_batch = 1",
    ]
    made = make_plan(SETUP, 85, estimate)
    assert [str(one) for one in made.chosen.changes[:2]] == [
        'train.precision = "bfloat16"',
        "train.rematerialise = true",
    ]
    assert [option.fit_answer for option in made.options] == ["does-not-fit", "does-not-fit", "fits"]


def test_nothing_fits_into_nothing():
    made = make_plan(SETUP, 10, estimate)
    assert made.chosen is None
    assert len(made.options) == 7
