"""EarlyStopping ended the training, as it was asked to."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.fits import stop_request
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import number
from holdfast.journal.events import StopRequested

OURS = "early-stopping"  # as our own trainer names it


@cause("early-stopping", Group.CONTROL, specialises=("stopped-by-callback",))
def early_stopping(evidence: Evidence) -> Finding | None:
    asked = stop_request(
        evidence,
        lambda by, settings: (
            by == OURS or "EarlyStopping" in by or ("patience" in settings and "stopped_epoch" in settings)
        ),
    )
    if asked is None or evidence.went_wrong or evidence.stall is not None:
        return None
    event = asked.event
    if event.by == OURS:
        return _by_our_trainer(evidence, asked)
    if "stopped_epoch" not in event.settings and event.where and not _KERAS.match(event.where):
        return None  # a callback of the user's own that has this name
    monitor, patience = event.settings.get("monitor", "its metric"), event.settings.get("patience")
    best = event.settings.get("best")
    at = f" after epoch {event.epoch + 1}" if event.epoch is not None else ""
    facts = [
        Fact(f"{event.by} set stop_training{at}" + (f" ({event.where})" if event.where else ""), asked.source)
    ]
    facts.append(
        Fact(
            f"it watches {monitor}"
            + (f" with patience {patience}" if patience is not None else "")
            + (f"; the best was {number(number_of(best))}" if best is not None else ""),
            asked.source,
        )
    )
    fit = evidence.fit
    longer = max(5, 2 * int(patience or 0))
    remedies = (
        Remedy(
            "nothing, if this was meant. To train on: more patience, and keep the best weights",
            "your-choice",
            f'EarlyStopping("{monitor}", patience={longer}, restore_best_weights=True)',
        ),
    )
    wrong = _wrong_way(str(monitor), event.settings.get("mode"))
    if wrong:
        facts.append(Fact(f"mode {event.settings.get('mode')!r} on {monitor} {wrong}", asked.source))
        right = "max" if event.settings.get("mode") == "min" else "min"
        remedies = (
            Remedy(f"turn the mode round, or leave it to Keras: mode={right!r}", "your-choice",
                   f'EarlyStopping("{monitor}", mode="{right}", patience={patience})'),
        )  # fmt: skip
    if patience == 0:
        facts.append(Fact("patience 0 stops at the first epoch that is not better", asked.source))
    planned = fit.planned_epochs if fit is not None else None
    done = fit.done.event.epochs_done if fit is not None and fit.done is not None else None
    far = f" at epoch {done} of {planned}" if planned and done is not None else ""
    return Finding(
        "early-stopping",
        Strength.ESTABLISHED,
        f"EarlyStopping ended the training{far}: " + (f"it {wrong}" if wrong else "this is what it is for"),
        tuple(facts),
        (),
        remedies,
        normal=not wrong,
    )


def _by_our_trainer(evidence: Evidence, asked: Recorded[StopRequested]) -> Finding:
    known, step = asked.event.settings, asked.event.step or 0
    monitor, waited, patience = known.get("monitor", "AP"), known.get("waited"), known.get("patience")
    planned = evidence.fit.planned_steps if evidence.fit is not None else None
    far = f" at step {step:,}" + (f" of {planned:,}" if planned else "")
    facts = [
        Fact(
            f"{monitor} was not better in the last {waited} validations; the patience is {patience}",
            asked.source,
        )
    ]
    if known.get("best_step") is not None:
        best = number(number_of(known.get("best")))
        facts.append(
            Fact(
                f"the best was {best} at step {known['best_step']:,}, and model.npz has those weights",
                asked.source,
            )
        )
    longer = max(5, 2 * int(patience or 0))
    return Finding(
        "early-stopping", Strength.ESTABLISHED, f"early stopping ended the training{far}: this is what it is for",
        tuple(facts), (),
        (
            Remedy("nothing, if this was meant. To train on, go on with more patience", "your-choice",
                   f"holdfast train --resume --run-dir RUN --set train.early_stopping_patience={longer}"),
        ),
        normal=True,
    )  # fmt: skip


def _wrong_way(monitor: str, mode: object) -> str:
    """What a mode against the sense of its metric does, in words."""
    falls = re.search(r"loss|error|mse|mae", monitor, re.IGNORECASE)
    if re.search(r"neg", monitor, re.IGNORECASE):  # `neg_loss` grows
        return ""
    if mode == "max" and falls:
        return f"waits for {monitor} to grow, and takes a model that learns for one that does not"
    if (
        mode == "min"
        and not falls
        and re.search(r"acc|auc|precision|recall|iou|f1|map\b", monitor, re.IGNORECASE)
    ):
        return f"waits for {monitor} to fall, and takes a model that learns for one that does not"
    return ""


_KERAS = re.compile(r"(.*/)?(tf_)?keras/")
