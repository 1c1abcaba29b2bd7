"""The learning rate fell to next to nothing."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.nodes import number_of
from holdfast.explain.words import number


def learning_rate_collapsed(evidence: Evidence) -> Finding | None:
    fit = evidence.fit
    if fit is None:
        return None
    # Of the last fit only: another fit may have been given another rate on purpose.
    rates = [
        (said.event.epoch, said.event.learning_rate, said)
        for said in fit.epochs
        if said.event.learning_rate is not None
    ]
    if len(rates) < 3:
        return None
    highest = max(rate or 0.0 for _, rate, _ in rates)
    reducers = [
        one
        for one in (fit.started.event.callbacks if fit.started is not None else [])
        if "ReduceLR" in str(one.get("class"))
    ]
    low = [
        (epoch, said)
        for epoch, rate, said in rates
        if rate is not None and highest > 0 and rate <= 1e-3 * highest
    ]
    if not low:
        return None
    planned = fit.planned_epochs or len(rates)
    epoch, said = low[0]
    left = planned - (epoch + 1)
    last = rates[-1][1]
    rose_again = any((rate or 0.0) > 1e-3 * highest for at, rate, _ in rates if at > epoch)
    # A schedule may end at nothing, and may come down early if it rises again; for half the training it may not.
    scheduled = bool(evidence.model is not None and evidence.model.event.learning_rate_schedule)
    if rose_again or left < (0.5 if scheduled and not reducers else 0.2) * planned:
        return None
    facts = [
        Fact(
            f"the learning rate fell from {number(highest)} to {number(said.event.learning_rate)} by epoch "
            f"{epoch + 1} and stands at {number(last)}",
            said.source,
        )
    ]
    if reducers:
        settings = reducers[0].get("settings", {})
        facts.append(
            Fact(
                f"{reducers[0].get('class')} lowers it: factor {settings.get('factor')}, patience "
                f"{settings.get('patience')}, min_delta {settings.get('min_delta')}, min_lr {settings.get('min_lr')}",
                fit.started.source if fit.started is not None else "",
            )
        )
    losses = [number_of(one.event.logs.get("loss")) for _, _, one in rates]
    later = [loss for loss in losses[epoch:] if loss is not None]
    if len(later) > 1:
        facts.append(Fact(f"the loss since: {number(later[0])} to {number(later[-1])}", rates[-1][2].source))
    return Finding(
        "learning-rate-collapsed",
        Strength.ESTABLISHED if reducers and len(later) > 1 else Strength.SUPPORTED,
        f"the learning rate fell to {number(last)} after {epoch + 1} of {planned} epochs; since then nothing is learnt",
        tuple(facts),
        (),
        (
            Remedy(
                "more patience, a gentler factor and a floor",
                "your-choice",
                "keras.callbacks.ReduceLROnPlateau(patience=10, factor=0.5, min_lr=1e-5)",
            ),
            Remedy(
                "a schedule that ends with the training",
                "your-choice",
                "keras.optimizers.schedules.CosineDecay(1e-3, steps)",
            ),
        ),
        ends=False,
    )


PAGE = """\
What it is
  ReduceLROnPlateau with little patience divides the rate again and again
  until the weights stand still; the loss is flat from then on and looks
  converged.

How Holdfast knows
  The rate at the end of each epoch, with a good part of the training still
  ahead, and the callback's settings. A schedule that ends low at the end of
  training is healthy.

How to make it happen
  `ReduceLROnPlateau(patience=0, factor=0.01, min_delta=1)`

How to cure it
  Patience, a factor of 0.5, a floor (`min_lr`).

When Holdfast would be wrong
  If the rate was meant to be that small for a last phase.
"""
