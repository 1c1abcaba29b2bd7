"""Fewer records than one batch, and the incomplete batch is dropped."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import counted


@cause(
    "dataset-smaller-than-batch",
    Group.DATA,
    specialises=(
        "dataset-exhausted",
        "dataset-empty",
    ),
)
def dataset_smaller_than_batch(evidence: Evidence) -> Finding | None:
    if evidence.step or (evidence.exit_code != 0 and evidence.stall is None):
        return None
    for at, node in enumerate(evidence.nodes):
        drops = node.op == "batch" and node.settings.get("drop_remainder")
        batch = node.settings.get("batch_size")
        before = evidence.nodes[at - 1].cardinality if at else None
        if drops and isinstance(batch, int) and before is not None and 0 < before < batch:
            where = f" ({node.where})" if node.where else ""
            return Finding(
                "dataset-smaller-than-batch",
                Strength.ESTABLISHED,
                f"{counted(before, 'record')} are fewer than a batch of {batch}, and incomplete batches are dropped",
                (
                    Fact(
                        f"batch{where} takes {batch} with drop_remainder=True of {counted(before, 'record')}",
                        node.source,
                    ),
                    Fact("no training step was done", "beats"),
                ),
                (),
                (
                    Remedy(
                        "a smaller batch, or keep the incomplete one",
                        "your-choice",
                        f"ds = ds.batch({max(1, before)})",
                    ),
                    Remedy(
                        "repeat before batching",
                        "your-choice",
                        f"ds = ds.repeat().batch({batch}, drop_remainder=True)",
                    ),
                ),
            )
    return None
