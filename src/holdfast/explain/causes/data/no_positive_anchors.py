"""A part of the loss is exactly 0.0 at every step: no anchor matches any object."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import listed
from holdfast.journal import events as ev

_OF_BOXES = (
    "box",
    "regress",
    "reg_",
    "_reg",
    "locali",
    "loc_",
    "_loc",
    "iou",
    "offset",
)  # not `regularization_loss`


@cause("no-positive-anchors", Group.DATA, specialises=("loss-not-falling",))
def no_positive_anchors(evidence: Evidence) -> Finding | None:
    points = evidence.all(ev.LossSeen)
    epochs = evidence.all(ev.EpochDone)
    logs = [said.event.logs for said in points] + [said.event.logs for said in epochs]
    if len(logs) < 3 or (evidence.step or 0) < 5:
        return None
    names = [
        name
        for name in dict.fromkeys(name for log in logs for name in log)
        if name not in ("loss", "val_loss") and _is_part(name) and not name.startswith("val_")
    ]
    dead = [name for name in names if all(number_of(log.get(name)) == 0.0 for log in logs if name in log)]
    alive = [name for name in names if name not in dead]
    if not dead or not (alive or number_of(logs[-1].get("loss"))):
        return None
    source = points[-1].source if points else epochs[-1].source
    boxlike = any(word in name for name in dead for word in _OF_BOXES if "regulari" not in name)
    facts = [
        Fact(
            f"{listed(dead)} is exactly 0.0 at every one of {len(logs)} records, {evidence.step:,} steps",
            source,
        )
    ]
    if alive:
        facts.append(Fact(f"{listed(alive)} is not", source))
    return Finding(
        "no-positive-anchors",
        Strength.SUPPORTED if boxlike and len(logs) >= 5 else Strength.POSSIBLE,
        f"{listed(dead)} is exactly 0.0 at every step: no anchor matches an object, so nothing is learnt about it",
        tuple(facts),
        (),
        (
            Remedy(
                "anchors of the sizes that the objects have in the resized image; `holdfast check` lists boxes "
                "that no anchor covers",
                "your-choice",
            ),
            Remedy(
                "check that boxes are scaled with the image, and in the coordinates the matcher expects",
                "guess",
            ),
        ),
        ends=False,
    )


def _is_part(name: str) -> bool:
    return "loss" in name or name.endswith(("_regression", "_classification"))
