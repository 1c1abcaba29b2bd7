"""Causes in the counting of steps and epochs."""

from __future__ import annotations

from holdfast.explain.causes.steps import (
    cardinality_changes,
    dataset_exhausted,
    epoch_never_ends,
    filter_never_passes,
    generator_exhausted,
    validation_never_ends,
)

#: The specific before the general: among equals the earlier one is named first.
CAUSES = (
    dataset_exhausted.dataset_exhausted,
    generator_exhausted.generator_exhausted,
    cardinality_changes.cardinality_changes,
    epoch_never_ends.epoch_never_ends,
    validation_never_ends.validation_never_ends,
    filter_never_passes.filter_never_passes,
)
