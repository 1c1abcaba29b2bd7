"""The training step is run operation by operation."""

import re

from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_WARNING = re.compile(r"run_functions_eagerly|Even though the `tf\.config")
#: Shorter training may be debugging, where eager execution is meant. Chosen; no measurement is recorded.
_STEPS_THAT_COUNT, _SECONDS_THAT_COUNT = 100, 5.0


@cause("eager-execution")
def eager_execution(evidence: Evidence) -> Finding | None:
    model = next((one for one in reversed(evidence.all(ev.ModelSeen)) if one.event.run_eagerly), None)
    settings = [(one.source, one.event.environment) for one in evidence.all(ev.FrameworkSeen)]
    switched = [source for source, names in settings if names.get("functions_run_eagerly") == "true"]
    warned = [one.source for one in evidence.all(ev.WarningSeen) if _WARNING.search(one.event.text)]
    sources = [*([model.source] if model is not None else []), *switched, *warned]
    if not sources:
        return _loop(evidence)
    everywhere = model is None and bool(switched)
    values = {"everywhere": everywhere, "where": model.event.where if model is not None else ""}
    steps, trained_s = evidence.step or 0, _trained_s(evidence)
    facts = [Fact("model.runs-eagerly", values, sources[0])]
    if steps and trained_s:
        facts.append(Fact("steps.duration", {"seconds": trained_s / steps}, "journal.jsonl"))
    counts = steps >= _STEPS_THAT_COUNT and trained_s >= _SECONDS_THAT_COUNT
    remedy = Remedy("eager.switch-off") if everywhere else Remedy("eager.leave-out")
    return Finding(Strength.supported_if(counts), Title("eager-execution"), facts, [remedy], ends=False)


def _loop(evidence: Evidence) -> Finding | None:
    """A loop on TensorFlow that calls its optimizer, and no tf.function. It may be meant so: only possible."""
    seen = next((one for one in evidence.all(ev.LoopSeen) if one.event.by == "apply_gradients"), None)
    if seen is None or evidence.backend != "tensorflow" or evidence.fit is not None:
        return None
    steps, trained_s = evidence.step or 0, _trained_s(evidence)
    if steps < _STEPS_THAT_COUNT or trained_s < _SECONDS_THAT_COUNT:
        return None
    values = {"everywhere": False, "where": seen.event.where}
    because = [
        Fact("loop.runs-eagerly", values, seen.source),
        Fact("steps.duration", {"seconds": trained_s / steps}, "journal.jsonl"),
    ]
    return Finding(
        Strength.POSSIBLE, Title("eager-execution"), because, [Remedy("eager.compile-the-step")], ends=False
    )


def _trained_s(evidence: Evidence) -> float:
    """Seconds of training: of the epochs, or between the first and the last sample that has a step."""
    in_epochs = sum(one.event.duration_s for one in evidence.all(ev.EpochDone))
    samples = [one for _, one in evidence.samples if one.step > 0] if len(evidence.samples) > 2 else []
    return in_epochs or (samples[-1].mono - samples[0].mono if len(samples) > 1 else 0.0)
