"""A plan as text and as JSON."""

from __future__ import annotations

from dataclasses import replace

from holdfast.memory import plan_text
from holdfast.memory.breakdown import METHODS, MemoryBreakdown, MemoryItem
from holdfast.memory.memory_plan import make_plan
from holdfast.memory.step_config import StepConfig

GIB = 2**30


SETUP = StepConfig("ssd", "resnet50", 320, 3, 9, batch=8, micro_batch=8)


SURE = replace(METHODS["compiled"], low_factor=1.0, high_factor=1.02, extra_bytes=0)


def estimate(config, sizes):
    each = GIB // (2 if config.precision != "float32" else 1)
    made = []
    for size in sizes:
        lines = (
            MemoryItem("weights", GIB, "counted"),
            MemoryItem("kept for the backward pass, head", size * each, "estimated"),
        )
        made.append(
            MemoryBreakdown((*lines, MemoryItem("context", GIB, "estimated")), SURE, GIB + size * each, GIB)
        )
    return made


def text(memory):
    beside = (MemoryItem("batches", 3 * 2**20, "counted"),)
    return plan_text.as_text(
        make_plan(SETUP, memory, estimate),
        memory_bytes=memory,
        target="a GPU",
        host=beside,
        notes=["as it is"],
    )


def test_the_verdict_comes_first_then_every_line_then_the_method():
    assert text(12 * GIB).splitlines() == [
        "fits: micro-batches of 8 take 10.00 GiB, at most 10.18 GiB of 12.00 GiB on a GPU",
        "",
        "at the peak of a training step:",
        "  1.00 GiB  weights  (counted)",
        "  8.00 GiB  kept for the backward pass, head  (estimated)",
        "  1.00 GiB  context  (estimated)",
        " 10.00 GiB  in total",
        "  2.00 GiB  free",
        "",
        "host memory, about 3.00 MiB at the peak:",
        "  3.00 MiB  batches  (counted)",
        "",
        f"method: {SURE.name}; errors so far: {SURE.validated_on}",
        "note: as it is",
    ]


def test_a_smaller_micro_batch_is_said_with_what_it_costs():
    lines = text(7 * GIB).splitlines()
    assert lines[0].startswith("fits: micro-batches of 4, 2 accumulated to the batch of 8 take 6.00 GiB")
    assert lines[3].startswith("  train.micro_batch = 4 ")
    assert "the same result, to float rounding" in lines[3]


def test_nothing_fits_says_so_and_what_was_tried():
    lines = text(GIB).splitlines()
    assert lines[0].startswith("nothing tried fits: ssd mobilenet_v2")
    assert sum("does not fit" in line for line in lines) >= 3


def test_json_has_the_names_of_the_contract():
    made = make_plan(SETUP, 7 * GIB, estimate)
    found = plan_text.as_json(made, memory_bytes=7 * GIB, target="a GPU", host=(), notes=())
    wanted = {"answer": "fits", "step_peak_bytes": 5 * GIB, "total_bytes": 6 * GIB, "micro_batch": 4, "accumulate": 2,
              "precision": "float32", "rematerialise": False, "method": SURE.name}  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    assert found["lines"][0] == {"what": "weights", "bytes": GIB, "known": "counted"}
