"""A plan as it is read."""

from __future__ import annotations

from dataclasses import replace

from holdfast.memory import host_memory, plan_text
from holdfast.memory.breakdown import METHODS, MemoryBreakdown, MemoryItem
from holdfast.memory.memory_plan import make_plan
from holdfast.memory.step_config import StepConfig

GIB = 2**30
SETUP = StepConfig("ssd", "resnet50", 320, 3, 9, batch=8, micro_batch=8)
SURE = replace(METHODS["compiled"], low=1.0, high=1.02, more_bytes=0)


def price(setup, sizes):
    each = GIB // (2 if setup.precision != "float32" else 1)
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
        make_plan(SETUP, memory, price), memory_bytes=memory, target="a card", host=beside, notes=["as it is"]
    )


def test_the_verdict_comes_first_then_every_line_then_the_method():
    assert text(12 * GIB).splitlines() == [
        "fits: micro-batches of 8 take 10.0 GiB, at most 10.2 GiB of 12.0 GiB on a card",
        "",
        "at the peak of a training step:",
        "  1.00 GiB  weights  (counted)",
        "  8.00 GiB  kept for the backward pass, head  (estimated)",
        "  1.00 GiB  context  (estimated)",
        "  10.0 GiB  in all",
        "  2.00 GiB  left",
        "",
        "memory of the host, about 3 MiB at the highest:",
        "     3 MiB  batches  (counted)",
        "",
        f"method: {SURE.name}; it has been off by: {SURE.seen}",
        "note: as it is",
    ]


def test_a_smaller_micro_batch_is_said_with_what_it_costs():
    lines = text(7 * GIB).splitlines()
    assert lines[0].startswith("fits: micro-batches of 4, 2 added up to the batch of 8 take 6.00 GiB")
    assert lines[3].startswith("  train.micro_batch = 4 ")
    assert "the same result, to float rounding" in lines[3]


def test_nothing_fits_says_so_and_what_was_tried():
    lines = text(GIB).splitlines()
    assert lines[0].startswith("nothing tried fits: ssd mobilenet_v2")
    assert sum("does not fit" in line for line in lines) >= 3


def test_json_has_the_names_of_the_contract():
    made = make_plan(SETUP, 7 * GIB, price)
    found = plan_text.as_json(made, memory_bytes=7 * GIB, target="a card", host=(), notes=())
    wanted = {"answer": "fits", "step_peak_bytes": 5 * GIB, "total_bytes": 6 * GIB, "micro_batch": 4, "accumulate": 2,
              "precision": "float32", "rematerialise": False, "method": SURE.name}  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    assert found["lines"][0] == {"what": "weights", "bytes": GIB, "known": "counted"}


def test_the_host_is_counted_by_hand():
    facts = host_memory.HostFacts(
        batch=4, picture_pixels=100 * 100, boxes=10, threads=2, largest_picture=1000, cache=5000,
        cache_kind="decoded", state=700, validation_pictures=3, jax=False, on_card=False,
    )  # fmt: skip
    sizes = {line.what.split(":")[0].split(",")[0]: line.bytes for line in host_memory.host_items(facts)}
    assert sizes["pictures being decoded"] == 2 * 2 * 1000
    assert sizes["batches"] == 4 * 4 * (100 * 100 * 3 + 10 * 22)
    assert sizes["cache of decoded pictures"] == 5000
    assert sizes["checkpoint"] == 1400
    assert sizes["detections of a validation"] == 3 * 100 * 56
    assert sum("compiling" in line.what for line in host_memory.host_items(facts)) == 0
