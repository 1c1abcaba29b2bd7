"""Items, totals, uncertainty and answers."""

from __future__ import annotations

import pytest

from holdfast.memory import breakdown
from holdfast.memory.breakdown import CONTEXT_BYTES, METHODS, MIB, SMALL_BYTES, MemoryBreakdown, MemoryItem
from holdfast.memory.gpu_catalogue import gpu_named

ANSWER = {
    "weights": 100 * MIB, "moments": 200 * MIB, "average": 0, "fixed": 0, "state": 300 * MIB, "masks": 200 * MIB,
    "model": 100 * MIB, "variables": [25 * MIB] * 4, "batch": 4 * MIB,
    "compiled": {"argument_bytes": 504 * MIB, "output_bytes": 400 * MIB, "alias_bytes": 0, "temp_bytes": 1000 * MIB},
    "liveness": {"temp_bytes": 900 * MIB, "largest_bytes": 50 * MIB,
                 "at": {"backbone/conv1": 600 * MIB, "head": 300 * MIB}},
}  # fmt: skip


def a_breakdown(step: int, method: str = "compiled", outside: int = 0) -> MemoryBreakdown:
    return MemoryBreakdown((MemoryItem("all", step, "counted"),), METHODS[method], step, outside)


def test_the_items_add_up_to_the_peak_and_the_context():
    made = breakdown.device_breakdown(ANSWER, gpu_named("h200"), method="compiled")
    assert sum(item.bytes for item in made.items) == made.total_bytes
    assert made.total_bytes - made.step_peak_bytes == CONTEXT_BYTES
    # 3 states, the model's copy, masks, the batch, 2 results, the temporary, small arrays; nothing rounded up here
    by_hand = (3 * 300 + 100 + 200 + 4 + 2 * 100 + 1000) * MIB + SMALL_BYTES
    assert made.step_peak_bytes == by_hand


def test_a_donated_state_lives_once():
    compiled = {**ANSWER["compiled"], "alias_bytes": 300 * MIB}
    lean = breakdown.device_breakdown({**ANSWER, "compiled": compiled}, gpu_named("h200"), method="compiled")
    weights = next(item for item in lean.items if item.label == "weights")
    assert weights.bytes == 100 * MIB


def test_activations_are_distributed_by_liveness_and_marked_estimated():
    made = breakdown.device_breakdown(ANSWER, gpu_named("h200"), method="compiled")
    kept = {item.label: item for item in made.items if item.label.startswith("kept")}
    assert kept["kept for the backward pass, backbone/conv1"].bytes == 600 * MIB
    assert kept["kept for the backward pass, head"].basis == "estimated"


def test_the_method_depends_on_what_is_known_about_the_gpu():
    assert (
        breakdown.device_breakdown(ANSWER, gpu_named("t4"), method="compiled").method
        is METHODS["compiled-guessed"]
    )
    without = {name: value for name, value in ANSWER.items() if name != "compiled"}
    assert (
        breakdown.device_breakdown(without, gpu_named("t4"), method="liveness").method is METHODS["liveness"]
    )


@pytest.mark.parametrize(
    ("room", "answer"),
    [
        (1143 * MIB, "fits"),
        (1142 * MIB, "too-close"),
        (971 * MIB, "too-close"),
        (969 * MIB, "does-not-fit"),
    ],
)
def test_the_answer_allows_for_the_errors_of_the_method(room, answer):
    # 1000 MiB: at most 1.5 % and 128 MiB more, at least 3 % less
    assert a_breakdown(1000 * MIB).fits(room) == answer


def test_a_plain_count_never_says_yes():
    counted = a_breakdown(10, "counted")
    assert counted.fits(1 << 60) == "too-close"
    assert counted.fits(9) == "does-not-fit"


def test_a_correction_is_an_item_of_its_own():
    made = breakdown.device_breakdown(ANSWER, gpu_named("h200"), method="compiled", correction_bytes=7 * MIB)
    item = next(item for item in made.items if "earlier runs" in item.label)
    assert (item.bytes, item.basis) == (7 * MIB, "measured")
