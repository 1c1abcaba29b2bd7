"""The monitor's own judgements."""

from __future__ import annotations

import pytest

from holdfast.journal.vitals import Sample
from holdfast.supervise import monitor


@pytest.mark.parametrize(
    ("grown_mib", "used_mib", "available_mib", "soon"),
    [
        (100, 900, 9000, True),  # 400 MiB left of the group's limit, gone in 4 s
        (100, 600, 9000, False),
        (100, 100, 300, True),  # the machine has less left than the group
        (0, 1299, 9000, False),
        (-50, 1299, 9000, False),
    ],
)
def test_memory_that_ends_within_seconds_is_seen_coming(
    grown_mib: int, used_mib: int, available_mib: int, soon: bool
) -> None:
    before = Sample(mono=10.0, tree_rss_bytes=1000 << 20)
    sample = Sample(
        mono=11.0,
        tree_rss_bytes=(1000 + grown_mib) << 20,
        memory_used_bytes=used_mib << 20,
        memory_limit_bytes=1300 << 20,
        memory_available_bytes=available_mib << 20,
    )
    assert monitor.memory_ends_soon(before, sample) is soon
    assert monitor.memory_ends_soon(None, sample) is False
