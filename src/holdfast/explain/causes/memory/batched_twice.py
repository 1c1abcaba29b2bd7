"""`batch` was applied twice, so that a step gets a batch of batches."""

from holdfast.explain.readings.memory import MemoryEnd, memory_end
from holdfast.explain.readings.output import clipped
from holdfast.explain.readings.pipeline import element_shapes
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

#: Nodes between which a second batch is right.
_REGROUPING = {"unbatch", "window", "zip"}


@cause("batched-twice", specialises=("script-error", "shapes-broadcast"))
def batched_twice(evidence: Evidence) -> Finding | None:
    data, ended = evidence.data(), memory_end(evidence)
    batches = [node for node in evidence.nodes if node.op == "batch"]
    if data is None or len(batches) < 2 or _REGROUPING & {node.op for node in evidence.nodes}:
        return None
    rank = next((len(shape) for shape in element_shapes(data.event)), None)
    wanted = _rank(evidence.seen(ev.ModelSeen).input_shape)
    validated = _rank_of_validation(evidence)
    unlike_validation = validated is not None and rank == validated + 1
    mismatch = unlike_validation or (wanted is not None and rank == wanted + 1)
    if wanted is not None and rank is not None and not mismatch:  # clips of frames in a batch
        return None
    error = evidence.error if evidence.error is not None and evidence.error.left != "callback" else None
    if not mismatch and ended is MemoryEnd.NO and error is None:
        return None
    sizes = [node.settings.get("batch_size", "?") for node in batches]
    facts = [data.fact("pipeline.batches", sizes=sizes, where=[node.where for node in batches])]
    if unlike_validation:  # a model that is built by its first batch takes what that has
        facts.append(data.fact("pipeline.rank-of-validation", rank=rank, validation_rank=validated))
    elif rank is not None:
        facts.append(data.fact("pipeline.rank", rank=rank, model_rank=wanted))
    if error is not None:
        facts.append(Fact("error.quoted", {"text": clipped(f"{error.type}: {error.message}")}, error.source))
    strength = Strength.established_if(mismatch)
    remedies = [Remedy("pipeline.batch-once", {"size": sizes[-1]})]
    return Finding(strength, Title("batched-twice", {"sizes": sizes}), facts, remedies, led_to=ended.cause)


def _rank_of_validation(evidence: Evidence) -> int | None:
    """Dimensions of a batch of the same fit's validation, where that is batched once at most."""
    data = evidence.data("validation")
    if data is None or sum(node.get("op") == "batch" for node in data.event.nodes) > 1:
        return None
    return next((len(shape) for shape in element_shapes(data.event)), None)


def _rank(shape: object) -> int | None:
    """Dimensions of the model's only input."""
    if not isinstance(shape, list | tuple) or not shape:
        return None
    if all(side is None or isinstance(side, int) for side in shape):
        return len(shape)
    return _rank(shape[0]) if len(shape) == 1 else None
