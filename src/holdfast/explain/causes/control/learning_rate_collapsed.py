"""The learning rate fell to next to nothing."""

from __future__ import annotations

from typing import Any

from holdfast.explain.causes.control import thresholds
from holdfast.explain.finding import Values
from holdfast.explain.readings.fits import Fit
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_PATIENCE, _SCHEDULE = Remedy("learning-rate.more-patience"), Remedy("learning-rate.schedule-to-the-end")


@cause("learning-rate-collapsed", specialises=("loss-not-falling",))
def learning_rate_collapsed(evidence: Evidence) -> Finding | None:
    fit = evidence.fit
    if fit is None:
        return _in_a_loop(evidence)
    # Of the last fit only: another fit may have been given another learning rate on purpose.
    epochs = [epoch for epoch in fit.epochs if epoch.event.learning_rate is not None]
    if len(epochs) < thresholds.FEWEST_EPOCHS:
        return None
    if all(epoch.event.learning_rate == 0.0 for epoch in epochs):
        return _always_zero(fit, epochs)
    return _fell(evidence, fit, epochs)


def _fell(evidence: Evidence, fit: Fit, epochs: list[Recorded[ev.EpochDone]]) -> Finding | None:
    rates = [epoch.event.learning_rate or 0.0 for epoch in epochs]
    floor = thresholds.NEXT_TO_NOTHING * max(rates)
    at = next((number for number, rate in enumerate(rates) if rate <= floor), None)
    if at is None or any(rate > floor for rate in rates[at:]):
        return None
    reducers = _callbacks(fit, "ReduceLR")
    planned = fit.planned_epochs or len(epochs)
    done = epochs[at].event.epoch - epochs[0].event.epoch + 1
    if planned - done < _allowed(evidence, fit) * planned:
        return None
    losses = [number_of(epoch.event.logs.get("loss")) for epoch in epochs[at:]]
    later = [loss for loss in losses if loss is not None]
    if len(later) > 1 and later[-1] < later[0] - thresholds.STILL_LEARNS * abs(later[0]):
        return None
    values: Values = {
        "highest": max(rates),
        "fell_to": rates[at],
        "epoch": epochs[at].event.epoch + 1,
        "last": rates[-1],
    }
    facts = [Fact("learning-rate.fell", values, epochs[at].source), *_set_by(evidence, fit)]
    if len(later) > 1:
        facts.append(Fact("loss.since", {"first": later[0], "last": later[-1]}, epochs[-1].source))
    return Finding(
        Strength.ESTABLISHED if reducers and len(later) > 1 else Strength.SUPPORTED,
        Title("learning-rate-collapsed", {"last": rates[-1], "epochs_done": done, "epochs": planned}),
        because=facts,
        remedies=[_PATIENCE, _SCHEDULE] if reducers else [_SCHEDULE],
        ends=False,
    )


def _allowed(evidence: Evidence, fit: Fit) -> float:
    """The share of the epochs for which the learning rate may be low at the end."""
    by_optimizer = evidence.model is not None and bool(evidence.model.event.learning_rate_schedule)
    scheduled = by_optimizer or bool(_callbacks(fit, "LearningRateScheduler"))
    if scheduled and not _callbacks(fit, "ReduceLR"):
        return thresholds.LOW_AT_THE_END_OF_A_SCHEDULE
    return thresholds.LOW_AT_THE_END


def _always_zero(fit: Fit, epochs: list[Recorded[ev.EpochDone]]) -> Finding:
    facts = [Fact("learning-rate.zero", {"epochs": len(epochs)}, epochs[-1].source)]
    setters = _callbacks(fit, "LearningRateScheduler", "ReduceLR")
    if setters and fit.started is not None:
        facts.append(
            Fact("learning-rate.set-by-callback", {"callback": setters[0].get("class")}, fit.started.source)
        )
    unchanged = fit.done is not None and fit.done.event.weights_changed is False
    if unchanged and fit.done is not None:
        facts.append(Fact("weights.none-changed", {"steps": fit.done.event.steps}, fit.done.source))
    strength = Strength.ESTABLISHED if unchanged else Strength.SUPPORTED
    title = Title("learning-rate-collapsed.zero", {"epochs": len(epochs)})
    return Finding(strength, title, facts, [_SCHEDULE], ends=False)


def _in_a_loop(evidence: Evidence) -> Finding | None:
    """A loop has no plan: the learning rate was next to nothing for half of what was done, and to its end."""
    seen = [one for one in evidence.all(ev.LossSeen) if one.event.learning_rate is not None]
    rates = [one.event.learning_rate or 0.0 for one in seen]
    done, highest = evidence.step or 0, max(rates, default=0.0)
    if highest <= 0.0 or done < thresholds.FEWEST_STEPS:
        return None
    high = [number for number, rate in enumerate(rates) if rate > thresholds.NEXT_TO_NOTHING * highest]
    low = seen[high[-1] + 1 :]
    if not low or done - low[0].event.step < thresholds.LOW_AT_THE_END_OF_A_SCHEDULE * done:
        return None
    since = {"step": low[0].event.step, "learning_rate": low[0].event.learning_rate}
    facts = (
        Fact("learning-rate.highest", {"learning_rate": highest}, seen[0].source),
        Fact("learning-rate.low-since", since, low[0].source),
    )
    title = Title("learning-rate-collapsed.loop", {"last": rates[-1], "steps": done})
    return Finding(Strength.SUPPORTED, title, facts, [_SCHEDULE], ends=False)


def _callbacks(fit: Fit, *names: str) -> list[dict[str, Any]]:
    given = fit.started.event.callbacks if fit.started is not None else []
    return [one for one in given if any(name in str(one.get("class")) for name in names)]


def _set_by(evidence: Evidence, fit: Fit) -> list[Fact]:
    source, model = fit.started.source if fit.started is not None else "", evidence.model
    for one in _callbacks(fit, "ReduceLR"):
        settings = {
            name: one.get("settings", {}).get(name) for name in ("factor", "patience", "min_delta", "min_lr")
        }
        return [Fact("learning-rate.reduced-by", {"callback": one.get("class"), **settings}, source)]
    for one in _callbacks(fit, "LearningRateScheduler"):
        return [Fact("learning-rate.set-by-callback", {"callback": one.get("class")}, source)]
    if model is not None and model.event.learning_rate_schedule:
        return [
            Fact("learning-rate.schedule", {"schedule": model.event.learning_rate_schedule}, model.source)
        ]
    return []
