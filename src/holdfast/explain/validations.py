"""What the validations of a detector have found: precision over all classes, as the trainer records it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from holdfast.explain.finding import Fact
from holdfast.explain.readings.course import course
from holdfast.explain.readings.numbers import number_of
from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence

#: Average precision at half overlap. Detectors that answer by chance had 0.000 to 0.01 on the test data.
_NEXT_TO_NOTHING = 0.05
#: Of its first loss: a detector below it has learned its training images.
_LEARNED_TO = 0.2
#: Share of an image's best answers that the next image has too. Detectors that learn had 0.2 to 0.4 on the test data.
_ALIKE = 0.9
#: Objects that were located, and their share of all, from which it matters how they are named.
_FEWEST_LOCATED, _LOCATES = 20, 0.3


def best_precision(evidence: Evidence) -> Fact | None:
    """The best AP50 of all validations; None where none of them had boxes to find."""
    seen = [(number_of(one.event.logs.get("AP50")), one) for one in evidence.all(ev.ValidationDone)]
    known = [(value, one) for value, one in seen if value is not None and value >= 0]
    if not known:
        return None
    value, best = max(known, key=lambda pair: pair[0])
    return best.fact("validation.best", precision=value, validations=len(known))


def found_nothing(evidence: Evidence) -> Fact | None:
    """Of a detector that was validated, and found next to nothing each time."""
    best = best_precision(evidence)
    return best if best is not None and best.values["precision"] < _NEXT_TO_NOTHING else None


def finds_objects(evidence: Evidence) -> bool:
    """A detector that was validated, and found more than next to nothing."""
    best = best_precision(evidence)
    return best is not None and best.values["precision"] >= _NEXT_TO_NOTHING


def learned_nothing(evidence: Evidence) -> Fact | None:
    """The same, where the training images were not learned either: with eight of them a detector learns these alone."""
    training = course(evidence)
    first = next((loss for _, loss, _ in evidence.losses if math.isfinite(loss)), None)
    if training is not None and first is not None and training.last < _LEARNED_TO * first:
        return None
    return found_nothing(evidence)


def same_answers(evidence: Evidence) -> Fact | None:
    """The newest answers of a detector are the same for every image: it does not look at them."""
    seen = evidence.last(ev.ValidationAnswersSeen)
    if seen is None or seen.event.alike is None or seen.event.alike < _ALIKE:
        return None
    return seen.fact(
        "answers.alike", alike=seen.event.alike, images=seen.event.images, highest=seen.event.highest
    )


def classes_by_chance(evidence: Evidence) -> Fact | None:
    """A detector that locates objects, and names them no better than the most frequent class would."""
    seen = evidence.last(ev.ValidationAnswersSeen)
    if seen is None or seen.event.right is None or seen.event.classes < 2:
        return None
    event, located = seen.event, round(seen.event.located * seen.event.objects)
    noise = math.sqrt(event.by_chance * (1 - event.by_chance) / max(1, located))
    if (
        located < _FEWEST_LOCATED
        or event.located < _LOCATES
        or seen.event.right > event.by_chance + noise / 2
    ):
        return None
    return seen.fact(
        "answers.classes-by-chance", located=event.located, right=event.right, by_chance=event.by_chance
    )
