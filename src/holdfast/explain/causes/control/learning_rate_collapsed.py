"""The learning rate fell to next to nothing."""

from __future__ import annotations

from typing import Any

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.fits import Fit
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import number, whole
from holdfast.journal import events as ev

_LOW = 1e-3  # of the highest rate
_LOOP_STEPS = 100
_STILL_LEARNS = 0.02  # of the loss, since the rate was low: then it was not too low


@cause("learning-rate-collapsed", Group.CONTROL, specialises=("loss-not-falling",))
def learning_rate_collapsed(evidence: Evidence) -> Finding | None:
    fit = evidence.fit
    if fit is None:
        return _in_a_loop(evidence)
    # Of the last fit only: another fit may have been given another rate on purpose.
    rates = [
        (said.event.epoch, said.event.learning_rate, said)
        for said in fit.epochs
        if said.event.learning_rate is not None
    ]
    if len(rates) < 3:
        return None
    if all(rate == 0.0 for _, rate, _ in rates):
        return _never_more_than_nothing(fit, rates[-1][2], len(rates))
    highest = max(rate or 0.0 for _, rate, _ in rates)
    reducers = _callbacks(fit, "ReduceLR")
    low = [(epoch, said) for epoch, rate, said in rates if rate is not None and rate <= _LOW * highest]
    if not low:
        return None
    planned = fit.planned_epochs or len(rates)
    epoch, said = low[0]
    begun = rates[0][0]  # epochs of a fit that goes on are counted from where the one before ended
    left = planned - (epoch - begun + 1)
    last = rates[-1][1]
    rose_again = any((rate or 0.0) > _LOW * highest for at, rate, _ in rates if at > epoch)
    # A schedule may end at nothing, and may come down early if it rises again; for half the training it may not.
    scheduled = bool(evidence.model is not None and evidence.model.event.learning_rate_schedule)
    scheduled = scheduled or bool(_callbacks(fit, "LearningRateScheduler"))
    if rose_again or left < (0.5 if scheduled and not reducers else 0.2) * planned:
        return None
    facts = [
        Fact(
            f"the learning rate fell from {number(highest)} to {number(said.event.learning_rate)} by epoch "
            f"{epoch + 1} and stands at {number(last)}",
            said.source,
        ),
        *_who_sets_it(evidence, fit),
    ]
    losses = [number_of(one.event.logs.get("loss")) for _, _, one in rates]
    later = [loss for loss in losses[epoch - begun :] if loss is not None]
    if len(later) > 1 and later[-1] < later[0] - _STILL_LEARNS * abs(later[0]):
        return None
    if len(later) > 1:
        facts.append(Fact(f"the loss since: {number(later[0])} to {number(later[-1])}", rates[-1][2].source))
    return Finding(
        "learning-rate-collapsed",
        Strength.ESTABLISHED if reducers and len(later) > 1 else Strength.SUPPORTED,
        f"the learning rate fell to {number(last)} after {epoch - begun + 1} of {planned} epochs; "
        "since then nothing is learnt",
        tuple(facts),
        (),
        (_PATIENCE, _SCHEDULE) if reducers else (_SCHEDULE,),
        ends=False,
    )


def _never_more_than_nothing(fit: Fit, last: Recorded[ev.EpochDone], epochs: int) -> Finding:
    stood = fit.done is not None and fit.done.event.weights_changed is False
    facts = [Fact(f"the learning rate was 0 at the end of all {epochs} epochs", last.source)]
    setters = _callbacks(fit, "LearningRateScheduler", "ReduceLR")
    if setters and fit.started is not None:
        facts.append(Fact(f"{setters[0].get('class')} sets it before each epoch", fit.started.source))
    if stood and fit.done is not None:
        facts.append(
            Fact(f"after {whole(fit.done.event.steps)} steps no weight had changed", fit.done.source)
        )
    return Finding(
        "learning-rate-collapsed",
        Strength.ESTABLISHED if stood else Strength.SUPPORTED,
        f"the learning rate is 0 in all {epochs} epochs: nothing is learnt",
        tuple(facts),
        (),
        (_SCHEDULE,),
        ends=False,
    )


def _in_a_loop(evidence: Evidence) -> Finding | None:
    """A loop tells no plan: the rate has stood next to nothing for half of what was done, and to its end."""
    rates = [
        (said.event.step, said.event.learning_rate, said)
        for said in evidence.all(ev.LossSeen)
        if said.event.learning_rate is not None
    ]
    done = evidence.step or 0
    highest = max((rate or 0.0 for _, rate, _ in rates), default=0.0)
    if highest <= 0.0 or done < _LOOP_STEPS:
        return None
    since = next((at for at, rate, _ in reversed(rates) if (rate or 0.0) > _LOW * highest), done)
    low = [(at, rate, said) for at, rate, said in rates if at > since]
    if not low or done - low[0][0] < 0.5 * done:
        return None
    at, rate, said = low[0]
    return Finding(
        "learning-rate-collapsed",
        Strength.SUPPORTED,
        f"the learning rate fell to {number(low[-1][1])}; for most of the {done:,} steps it was next to nothing",
        (
            Fact(f"the learning rate was {number(highest)} at its highest", rates[0][2].source),
            Fact(f"at step {at:,} it was {number(rate)}, and has not risen since", said.source),
        ),
        (),
        (_SCHEDULE,),
        ends=False,
    )


def _callbacks(fit: Fit, *words: str) -> list[dict[str, Any]]:
    given = fit.started.event.callbacks if fit.started is not None else []
    return [one for one in given if any(word in str(one.get("class")) for word in words)]


def _who_sets_it(evidence: Evidence, fit: Fit) -> list[Fact]:
    source = fit.started.source if fit.started is not None else ""
    for one in _callbacks(fit, "ReduceLR"):
        given = one.get("settings", {})
        return [
            Fact(
                f"{one.get('class')} lowers it: factor {given.get('factor')}, patience {given.get('patience')}, "
                f"min_delta {given.get('min_delta')}, min_lr {given.get('min_lr')}",
                source,
            )
        ]
    for one in _callbacks(fit, "LearningRateScheduler"):
        return [Fact(f"{one.get('class')} sets it before each epoch", source)]
    model = evidence.model
    if model is not None and model.event.learning_rate_schedule:
        return [Fact(f"the optimizer follows a schedule, {model.event.learning_rate_schedule}", model.source)]
    return []


_PATIENCE = Remedy(
    "more patience, a gentler factor and a floor",
    "your-choice",
    "keras.callbacks.ReduceLROnPlateau(patience=10, factor=0.5, min_lr=1e-5)",
)
_SCHEDULE = Remedy(
    "a schedule that ends with the training",
    "your-choice",
    "keras.optimizers.schedules.CosineDecay(1e-3, steps)",
)
