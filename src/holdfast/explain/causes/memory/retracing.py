"""A tf.function is traced again and again."""

from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, growth_seen, memory_end
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, cause, ev

#: All chosen. Traces of one function below which it is ordinary: one shape of full batches, one of the last, and so on.
_FEW = 8
#: Traces from which it is blamed, and so many that it is shown although most calls are not traced.
_BLAMED, _VERY_MANY = 15, 40
#: Share of the calls that are traced: half of them is beyond doubt, a fifth is blamed, one in a hundred is a few
#: lengths of padding among very many calls.
_MOST, _SOME, _HARDLY_ANY = 0.5, 0.2, 0.01
#: Traces of Keras's step in one fit: full batches, the last one, those drawn beforehand.
_A_FIT = 3
_WARNING = r"triggered tf\.function retracing"
_ANY_REASON = Remedy("function.trace-once")
_REMEDIES = {
    "new-shape": Remedy("function.relax-shapes"),
    "python-value": Remedy("function.pass-tensors"),
    "new-object": Remedy("function.make-once"),
}


@cause("retracing", specialises=("memory-leak", "recompiling"))
def retracing(evidence: Evidence) -> Finding | RuledOut | None:
    worst = max(evidence.all(ev.TracesCounted), key=lambda one: one.event.traces, default=None)
    warned = [one.source for one in evidence.all(ev.WarningSeen) if "retracing" in one.event.text]
    if worst is None or worst.event.traces < _FEW:
        return _warned(evidence, warned)
    event = worst.event
    if _is_other_cause(event) or _once_a_fit(evidence, event):
        return None
    share = event.traces / max(1, event.calls)
    values = {"function": event.function, "where": event.where, "traces": event.traces, "calls": event.calls}
    if (share < _SOME and event.traces < _VERY_MANY) or share < _HARDLY_ANY:
        return RuledOut("retracing.few", values, worst.source)
    facts = [Fact("function.traced", {**values, "signatures": event.signatures[-3:]}, worst.source)]
    facts += [Fact("tensorflow.warned-of-retracing", {}, source) for source in warned[:1]]
    facts += growth_seen(evidence) if evidence.growth.when != GrowthShape.IN_WORKERS else []
    strength, title = _strength(event.traces, share), Title("retracing", {**values, "reason": event.reason})
    remedies, ended = [_REMEDIES.get(event.reason, _ANY_REASON)], memory_end(evidence)
    ends = ended is not MemoryEnd.NO
    return Finding(strength, title, facts, remedies, led_to=ended.cause, ends=ends)


def _is_other_cause(event: ev.TracesCounted) -> bool:
    """A new model makes its own step, which is not one function traced again; for JAX see recompiling."""
    new_model = event.reason == "new-object" and event.where.startswith(("keras/", "tf_keras/"))
    return new_model or (bool(event.signatures) and event.signatures[-1].startswith("compiled in"))


def _once_a_fit(evidence: Evidence, event: ev.TracesCounted) -> bool:
    """Keras makes the step of each model anew: folds and searches trace it for every fit, whatever its batches are."""
    own = event.where.startswith(("keras/", "tf_keras/"))
    return own and len(evidence.fits) > 1 and event.traces <= _A_FIT * len(evidence.fits)


def _strength(traces: int, share: float) -> Strength:
    if traces < _BLAMED or share < _SOME:
        return Strength.POSSIBLE
    return Strength.established_if(share >= _MOST)


def _warned(evidence: Evidence, sources: list[str]) -> Finding | None:
    """Nothing was counted, and TensorFlow warned: as the probe saw it, or in the output."""
    printed = evidence.output.last(_WARNING, advice=True)
    sources += [printed.source] if printed is not None else []
    if not sources or len(evidence.fits) > 2:
        return None
    facts = [Fact("tensorflow.warned-of-retracing", {}, sources[0])]
    return Finding(Strength.POSSIBLE, Title("retracing.warned"), facts, [_ANY_REASON], ends=False)
