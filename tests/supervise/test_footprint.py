"""The block after the first steps of somebody's own script."""

from __future__ import annotations

from holdfast.journal import events as ev
from holdfast.supervise.sampling.memory_breakdown import MemoryReport, batch_size_of_spec, render_block

MIB = 2**20
KNOWN = {"weights_bytes": 100 * MIB, "gradients_bytes": 100 * MIB, "optimizer_bytes": 200 * MIB}


def told(footprint, facts, free=None):
    return footprint.take(ev.FootprintMeasured(**facts), free_bytes=lambda: free)


def test_a_card_is_taken_apart_and_its_rest_priced_in_batches():
    one = MemoryReport()
    assert one.take(ev.FitStarted(batch_size=8), free_bytes=lambda: None) == ""
    facts = {**KNOWN, "gpu_peak_bytes": 1200 * MIB, "gpu_limit_bytes": 2200 * MIB, "host_peak_bytes": 7}
    assert told(one, facts).splitlines() == [
        "holdfast: memory of the card after the first steps: 1.17 GiB at the highest",
        "    100 MiB  weights",
        "    100 MiB  gradients",
        "    200 MiB  optimizer",
        "    800 MiB  activations, temporaries and workspace",
        "   1000 MiB  still free: a batch of about 17 instead of 8 would fit",  # 900 MiB at 100 each
    ]


def test_the_batch_is_read_off_the_dataset_where_fit_was_not_told():
    one = MemoryReport()
    seen = ev.DatasetSeen(role="train", element_spec=[[[16, 224, 224, 3], "float32"]], element_bytes=9 * MIB)
    one.take(seen, free_bytes=lambda: None)
    text = told(one, {**KNOWN, "host_peak_bytes": 2009 * MIB}, free=800 * MIB)
    assert "      9 MiB  one batch" in text
    assert "1.56 GiB  framework, data pipeline, activations" in text
    assert "a batch of 23 or more instead of 16 would fit" in text


def test_of_a_tiny_model_no_batch_is_named_that_nobody_has_data_for():
    text = render_block(
        ev.FootprintMeasured(weights_bytes=196, host_peak_bytes=650 * MIB), 16, None, 35_000 * MIB
    )
    assert text.splitlines()[-1] == (
        "  34.18 GiB  still free: 4 times the batch of 16 would fit; it is not memory that bounds it"
    )


def test_without_a_known_room_nothing_is_promised():
    text = told(MemoryReport(), {**KNOWN, "gpu_peak_bytes": 1200 * MIB})
    assert "would fit" not in text
    assert "still free" not in text
    assert told(MemoryReport(), {"host_peak_bytes": 0}) == ""


def test_the_leading_side_of_a_spec():
    assert batch_size_of_spec([[[32, 5], "float32"], [[32], "int64"]]) == 32
    assert batch_size_of_spec([[[None, 5], "float32"]]) is None
    assert batch_size_of_spec("no spec") is None


def test_weights_of_a_small_model_are_not_rounded_to_nothing() -> None:
    facts = {"weights_bytes": 196, "gradients_bytes": 196, "optimizer_bytes": 0, "host_peak_bytes": 652 * MIB}
    assert render_block(ev.FootprintMeasured(**facts), None, None, None).splitlines()[1:3] == [
        "      196 B  weights",
        "      196 B  gradients",
    ]
