"""Host memory of a run, counted by hand."""

from __future__ import annotations

from holdfast.memory import host_memory


def test_the_host_is_counted_by_hand():
    facts = host_memory.HostFacts(
        batch=4, image_pixels=100 * 100, max_boxes=10, threads=2, largest_image_bytes=1000, cache_bytes=5000,
        cache_kind="decoded", state_bytes=700, validation_images=3, jax=False, on_gpu=False,
    )  # fmt: skip
    sizes = {item.label.split(":")[0].split(",")[0]: item.bytes for item in host_memory.host_items(facts)}
    assert sizes["images being decoded"] == 2 * 2 * 1000
    assert sizes["batches"] == 5 * 4 * (100 * 100 * 3 + 10 * 22)
    assert sizes["cache of decoded images"] == 5000
    assert sizes["checkpoint"] == 1400
    assert sizes["detections of a validation"] == 3 * 100 * 56
    assert sum("compiling" in item.label for item in host_memory.host_items(facts)) == 0
