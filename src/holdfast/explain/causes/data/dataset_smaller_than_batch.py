"""The dataset has fewer records than one batch, and the incomplete batch is dropped."""

from itertools import pairwise

from holdfast.explain.readings.pipeline import PipelineNode, sized_nodes
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev


@cause("dataset-smaller-than-batch", specialises=("dataset-exhausted", "dataset-empty"))
def dataset_smaller_than_batch(evidence: Evidence) -> Finding | None:
    if evidence.step or (evidence.exit_code != 0 and evidence.stall is None):
        return None
    for before, node in _neighbours(evidence):
        drops = node.op == "batch" and node.settings.get("drop_remainder")
        batch, records = node.settings.get("batch_size"), before.cardinality
        if drops and isinstance(batch, int) and records is not None and 0 < records < batch:
            values = {"records": records, "batch": batch}
            batched = Fact("pipeline.drops-remainder", {**values, "where": node.where}, node.source)
            return Finding(
                Strength.ESTABLISHED,
                Title("dataset-smaller-than-batch", values),
                because=[batched, Fact("steps.none", {}, "beats")],
                remedies=[Remedy("batch.shrink-to-dataset", values), Remedy("pipeline.repeat-first", values)],
            )
    return None


def _neighbours(evidence: Evidence) -> list[tuple[PipelineNode, PipelineNode]]:
    """Of every dataset that is trained on: a loop goes through the one for its validation, too."""
    seen = [one for one in evidence.all(ev.DatasetSeen) if one.event.role == "train"]
    return [pair for one in seen for pair in pairwise(sized_nodes(one, None, {}))]
