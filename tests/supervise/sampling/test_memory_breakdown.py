"""The memory breakdown after the first steps of a script."""

from __future__ import annotations

from holdfast.journal import events as ev
from holdfast.supervise.sampling.memory_breakdown import MemoryReport, batch_size_of_spec, render_block

MIB = 2**20
KNOWN = {"weights_bytes": 100 * MIB, "gradients_bytes": 100 * MIB, "optimizer_bytes": 200 * MIB}


def render(report, facts, free=None):
    return report.update(ev.FootprintMeasured(**facts), free_bytes=lambda: free)


def test_gpu_memory_is_broken_down_and_a_larger_batch_estimated():
    report = MemoryReport()
    assert report.update(ev.FitStarted(batch_size=8), free_bytes=lambda: None) == ""
    facts = {**KNOWN, "gpu_peak_bytes": 1200 * MIB, "gpu_limit_bytes": 2200 * MIB, "host_peak_bytes": 7}
    assert render(report, facts).splitlines() == [
        "holdfast: GPU memory after the first steps: peak 1.2 GiB",
        "    100 MiB  weights",
        "    100 MiB  gradients",
        "    200 MiB  optimizer",
        "    800 MiB  activations, temporaries and workspace",
        "   1000 MiB  still free: a batch of about 17 instead of 8 would fit",  # 900 MiB at 100 each
    ]


def test_the_batch_size_comes_from_the_dataset_where_fit_has_none():
    report = MemoryReport()
    seen = ev.DatasetSeen(role="train", element_spec=[[[16, 224, 224, 3], "float32"]], element_bytes=9 * MIB)
    report.update(seen, free_bytes=lambda: None)
    text = render(report, {**KNOWN, "host_peak_bytes": 2009 * MIB}, free=800 * MIB)
    assert "9.0 MiB  one batch" in text
    assert "1.6 GiB  framework, data pipeline, activations" in text
    assert "a batch of 23 or more instead of 16 would fit" in text


def test_for_a_tiny_model_no_huge_batch_is_suggested():
    text = render_block(
        ev.FootprintMeasured(weights_bytes=196, host_peak_bytes=650 * MIB), 16, None, 35_000 * MIB
    )
    assert text.splitlines()[-1] == (
        "   34.2 GiB  still free: 4 times the batch of 16 would fit; memory is not the limit"
    )


def test_without_a_known_limit_no_batch_is_suggested():
    text = render(MemoryReport(), {**KNOWN, "gpu_peak_bytes": 1200 * MIB})
    assert "would fit" not in text
    assert "still free" not in text
    assert render(MemoryReport(), {"host_peak_bytes": 0}) == ""


def test_the_first_dimension_of_a_spec_is_the_batch_size():
    assert batch_size_of_spec([[[32, 5], "float32"], [[32], "int64"]]) == 32
    assert batch_size_of_spec([[[None, 5], "float32"]]) is None
    assert batch_size_of_spec("no spec") is None


def test_weights_of_a_small_model_are_not_rounded_to_nothing() -> None:
    facts = {"weights_bytes": 196, "gradients_bytes": 196, "optimizer_bytes": 0, "host_peak_bytes": 652 * MIB}
    assert render_block(ev.FootprintMeasured(**facts), None, None, None).splitlines()[1:3] == [
        "  196 bytes  weights",
        "  196 bytes  gradients",
    ]
