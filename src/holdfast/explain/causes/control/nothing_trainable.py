"""The model has no weight that training may change."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line
from holdfast.explain.words import clipped, whole
from holdfast.journal import events as ev


@cause(
    "nothing-trainable",
    Group.CONTROL,
    specialises=(
        "script-error",
        "loss-not-falling",
    ),
)
def nothing_trainable(evidence: Evidence) -> Finding | None:
    fit = evidence.fit
    models = evidence.all(ev.ModelSeen)
    model = models[-1] if models else None
    by_batch = any(said.event.by == "train_on_batch" for said in evidence.all(ev.LoopSeen))
    # Which of several models a loop trains by the batch is not told: all of them must be frozen.
    shown = models if by_batch and fit is None else models[-1:]
    frozen = (
        (fit is not None or by_batch)
        and bool(shown)
        and all(said.event.parameters > 0 and said.event.trainable_parameters == 0 for said in shown)
    )
    warned = next(
        (
            said
            for said in evidence.all(ev.WarningSeen)
            if "does not have any trainable weights" in said.event.text
        ),
        None,
    )
    printed = evidence.output.last("does not have any trainable weights", advice=True)
    refused = (
        matched(evidence, r"No gradients provided for any variable|does not have any trainable")
        if evidence.error is not None
        else None
    ) or _no_gradients(evidence)
    stood = (
        fit is not None
        and fit.done is not None
        and fit.done.event.weights_changed is False
        and fit.done.event.steps > 3
    )
    if not (frozen or warned is not None or printed is not None or refused is not None) or (
        fit is None and refused is None and not (frozen and by_batch)
    ):
        return None
    facts = []
    if frozen and model is not None:
        facts.append(
            Fact(
                f"{whole(model.event.parameters)} parameters, none of them trainable"
                + (f" ({model.event.where})" if model.event.where else ""),
                model.source,
            )
        )
    if warned is not None:
        facts.append(Fact(f"Keras warned: {clipped(warned.event.text, 120)}", warned.source))
    elif printed is not None:
        facts.append(Fact(f"Keras warned: {clipped(printed.text, 120)}", printed.source))
    if refused is not None:
        facts += [refused[1], *users_line(evidence)]
    if stood and fit is not None and fit.done is not None:
        facts.append(
            Fact(f"after {whole(fit.done.event.steps)} steps no weight had changed", fit.done.source)
        )
    learnable = any(said.event.trainable_parameters > 0 for said in models)
    none_reached = refused is not None and not frozen and (learnable or not models) and warned is None
    return Finding(
        "nothing-trainable",
        Strength.ESTABLISHED if frozen or stood or refused else Strength.SUPPORTED,
        "no gradient reaches any weight: the loss does not follow from them by steps that can be differentiated"
        if none_reached
        else "nothing is trainable: training changes no weight",
        tuple(facts),
        (),
        (_FOLLOW, _UNFREEZE) if none_reached else (_UNFREEZE,),
        ends=refused is not None,
    )


_UNFREEZE = Remedy(
    "unfreeze what is to learn, before compile",
    "your-choice",
    "model.trainable = True\nbackbone.trainable = False\nmodel.compile(…)",
)
_FOLLOW = Remedy(
    "look at what lies between the model and the loss: argmax, rounding, a cast to whole numbers, numpy() and a model "
    "called outside of the tape all end the gradient",
    "your-choice",
)


def _no_gradients(evidence: Evidence) -> tuple[re.Match[str], Fact] | None:
    """An optimizer was handed an empty list: Keras 3 takes it apart and says only that there is nothing in it."""
    error = evidence.error
    if error is None or not any("apply_gradients" in frame for frame in error.frames):
        return None
    found = re.search(r"not enough values to unpack \(expected 2, got 0\)", error.message)
    words = f"apply_gradients was given no gradient at all ({error.type}: {error.message})"
    return (found, Fact(clipped(words, 160), error.source)) if found else None
