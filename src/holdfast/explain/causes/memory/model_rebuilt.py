"""Models are built or refitted in a loop and the old ones stay."""

from holdfast.explain.causes.memory.ran_out import ran_out
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, growth_seen, kept_by_objects, memory_end
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_MODELS = ("Model", "Functional", "Sequential")
#: Fits, models or predictions that make a loop. All chosen: a script may well have two of each, …
_LOOP = 3
#: … models that are alive at once and worth showing, …
_ALIVE = 3
#: … and so many, alive or built, that they are blamed without growth from fit to fit: a GAN has two or three.
_MANY = 5
#: Share of the fits whose model is still alive where old models are what stays. Chosen.
_MOST_ALIVE = 0.6
#: Share of the growth above which a container of the user's explains it better than the models do. Chosen.
_CONTAINER = 0.5


@cause("model-rebuilt", specialises=("memory-leak",))
def model_rebuilt(evidence: Evidence) -> Finding | None:
    growth = evidence.growth
    if memory_end(evidence) is MemoryEnd.NO:
        return None
    alive, source = _models_alive(evidence)
    fits, models = evidence.fit_count, len(evidence.all(ev.ModelSeen))
    calls = max(fits, models, evidence.seen(ev.PredictDone).count)
    between = growth.when == GrowthShape.BETWEEN_FITS
    if calls < _LOOP or not (between or alive >= _ALIVE or models >= _MANY):
        return None
    facts = [Fact("fits.counted", {"fits": fits, "models": models}, "journal.jsonl")]
    gains = {"bytes": list(growth.by_fit[1:])}
    by_fit = Fact("memory.grew-by-fit", gains, growth.total.source)
    facts += [by_fit] if between else growth_seen(evidence)
    facts += [Fact("models.alive", {"models": alive}, source)] if alive >= _ALIVE else []
    strength = _strength(evidence, alive, between=between)
    remedies = [Remedy("model.clear-session"), Remedy("model.call-directly")]
    return ran_out(evidence, strength, Title("model-rebuilt"), facts, remedies)


def _models_alive(evidence: Evidence) -> tuple[int, str]:
    """The most models that were alive at once, and where that was counted."""
    counts = [
        (sum(int(number_of(one.event.object_counts.get(name)) or 0) for name in _MODELS), one.source)
        for one in evidence.all(ev.HoldingsSeen)
    ]
    return max(counts, key=lambda count: count[0], default=(0, ""))


def _strength(evidence: Evidence, alive: int, *, between: bool) -> Strength:
    kept = kept_by_objects(evidence)
    if kept is not None and kept.bytes > _CONTAINER * max(1, evidence.growth.total.bytes):
        return Strength.POSSIBLE
    if between and alive >= _MOST_ALIVE * len(evidence.fits):
        return Strength.ESTABLISHED
    return Strength.supported_if(between or alive >= _MANY)
