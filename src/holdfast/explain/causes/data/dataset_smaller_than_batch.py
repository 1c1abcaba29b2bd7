"""The dataset has fewer records than one batch, and the incomplete batch is dropped."""

from itertools import pairwise

from holdfast.explain.empty_validation import empty_validation
from holdfast.explain.readings.error import ErrorText
from holdfast.explain.readings.pipeline import PipelineNode, sized_nodes
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

#: What a script or Keras raises after a pass that gave nothing: a mean of no losses, a variable that no batch has set.
_FOLLOWS = ErrorText(
    r"has length 0|ZeroDivisionError|UnboundLocalError|NameError: name '\w+' is not defined|StopIteration|"
    r"need at least one array|expected a non-empty|is empty|empty (list|sequence|dataset|iterable)|No data|"
    r"mean requires at least one|Unexpected result of `train_function`|non-empty array or dataset"
)


@cause("dataset-smaller-than-batch", specialises=("script-error", "dataset-exhausted", "dataset-empty"))
def dataset_smaller_than_batch(evidence: Evidence) -> Finding | None:
    if evidence.step:
        return _of_validation(evidence)
    follows = _FOLLOWS.match(evidence) if evidence.error is not None else None
    if evidence.exit_code != 0 and evidence.stall is None and follows is None:
        return None
    if (dropped := _by_workers(evidence)) is not None:
        return dropped
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


def _of_validation(evidence: Evidence) -> Finding | None:
    found = empty_validation(evidence)
    if found is None or not found.less_than_a_batch:
        return None
    values = {"records": found.rows, "batch": found.batch, "where": found.where}
    of_torch = bool(evidence.all(ev.LoaderEmpty)) or evidence.dataset("validation").type == "torch"
    return Finding(
        found.strength,
        Title("dataset-smaller-than-batch.validation", values),
        because=found.seen,
        remedies=[
            Remedy("loader.keep-last" if of_torch else "pipeline.keep-remainder", values),
            Remedy("batch.shrink-to-dataset", values),
        ],
        led_to=found.led_to,
        ends=found.ends,
    )


def _by_workers(evidence: Evidence) -> Finding | None:
    """A stream that torch reads: each of its processes makes batches of its own, and none got one together."""
    seen = [one for one in evidence.all(ev.IncompleteBatchDropped) if 0 < one.event.rows < one.event.batch]
    if not seen or (evidence.last(ev.EmptyPassSeen) is None and not evidence.fits):
        return None
    event = seen[0].event
    first = {one.event.worker: one.event.rows for one in reversed(seen)}
    values = {"records": max(first.values()), "batch": event.batch, "workers": event.workers}
    title = Title(
        "dataset-smaller-than-batch.workers" if event.workers > 1 else "dataset-smaller-than-batch", values
    )
    dropped = seen[0].fact("loader.dropped-rows", rows=list(first.values()), batch=event.batch)
    return Finding(
        Strength.ESTABLISHED,
        title,
        because=[dropped, Fact("steps.none", {}, "beats")],
        remedies=[Remedy("loader.keep-last", values), Remedy("batch.shrink-to-dataset", values)],
    )


def _neighbours(evidence: Evidence) -> list[tuple[PipelineNode, PipelineNode]]:
    """Of every dataset that is trained on: a loop goes through the one for its validation, too."""
    seen = [one for one in evidence.all(ev.DatasetSeen) if one.event.role == "train"]
    return [pair for one in seen for pair in pairwise(sized_nodes(one, None, {}))]
