"""How far earlier runs exceeded their predictions."""

from __future__ import annotations

from holdfast.memory import corrections
from holdfast.memory.corrections import PredictionRecord


def record(setup, predicted, measured, card="NVIDIA H200", jax="0.11.2"):
    return PredictionRecord(card, jax, setup, predicted, measured)


def test_the_largest_excess_of_this_gpu_and_version_counts():
    runs = [
        record("a", 100, 130),
        record("b", 100, 110),
        record("c", 100, 900, jax="0.10.2"),
        record("d", 1, 999, card="T4"),
    ]
    assert corrections.correction(runs, "NVIDIA H200", "0.11.2") == 30


def test_a_setup_counts_once_by_its_latest_run():
    assert (
        corrections.correction([record("a", 100, 130), record("a", 125, 130)], "NVIDIA H200", "0.11.2") == 5
    )


def test_a_prediction_that_was_too_high_brings_nothing_nearer():
    assert corrections.correction([record("a", 100, 90)], "NVIDIA H200", "0.11.2") == 0


def test_kept_in_a_file_whose_last_line_may_be_partial(tmp_path):
    path = tmp_path / "here" / "measured.jsonl"
    corrections.add(record("a", 100, 130), path)
    with open(path, "a") as file:
        file.write('{"card": "NVI')
    assert corrections.read(path) == [record("a", 100, 130)]
    assert corrections.as_lines(corrections.read(path))[0]["excess_bytes"] == 30
