"""Nodes of a pipeline."""

from __future__ import annotations

import pytest

from holdfast.explain.readings.pipeline import op_name


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("ShuffleDatasetV3", "shuffle"),
        ("_ParallelMapDatasetV2", "map"),
        ("PaddedBatchDatasetV2", "batch"),
        ("prefetch", "prefetch"),
        ("MemoryCacheV2", "cache"),
        ("ignore_errors", "ignoreerrors"),
        ("unbatch", "unbatch"),
    ],
)
def test_names_of_nodes(op: str, name: str) -> None:
    assert op_name(op) == name
