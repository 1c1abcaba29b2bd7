"""What of a dataset is cached in memory, by how much memory there is."""

from __future__ import annotations

from holdfast.pipeline.cache_budget import decide

GIB = 1 << 30


def test_what_is_kept() -> None:
    base = {"encoded_bytes": GIB, "decoded_bytes": 6 * GIB, "packing_saves": 0.9}
    roomy = decide(**base, budget_bytes=6 * GIB, remote=False)
    assert (roomy.kind, roomy.why) == ("decoded", "all images, decoded, take 6.0 GiB; 6.0 GiB may be used")
    local = decide(**base, budget_bytes=6 * GIB - 1, remote=False)
    assert (local.kind, local.pack) == ("none", True)
    assert local.why.endswith("a packed copy on the disk would serve")
    assert decide(**base, budget_bytes=2 * GIB, remote=True).kind == "encoded"
    assert decide(**base, budget_bytes=GIB - 1, remote=True).kind == "none"
    assert not decide(**{**base, "packing_saves": 0.2}, budget_bytes=0, remote=False).pack
