"""Fewer records than one batch, and the incomplete batch is dropped."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.words import counted


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


PAGE = """\
What it is
  With `drop_remainder=True` a dataset of fewer records than one batch
  yields nothing at all: 0 steps, exit code 0. A generator that waits for a
  full batch waits for ever.

How Holdfast knows
  The number of records before the batch node is smaller than the batch, and
  no step was done.

How to make it happen
  `tf.data.Dataset.range(3).batch(8, drop_remainder=True)`

How to cure it
  Use a batch that fits, keep the incomplete batch, or repeat before
  batching.
      ds = ds.repeat().batch(8, drop_remainder=True)     # and steps_per_epoch=…

When Holdfast would be wrong
  If the count of records before the batch is an upper bound only.
"""
