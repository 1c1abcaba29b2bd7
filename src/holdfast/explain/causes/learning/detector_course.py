"""What a run shows of a detector: its targets, and the parts of its loss for boxes and for classes."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from holdfast.explain.finding import Fact
from holdfast.explain.readings.compared import BINARY, CATEGORICAL, SPARSE
from holdfast.explain.readings.numbers import median, number_of
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence

CROSS_ENTROPIES = BINARY | CATEGORICAL | SPARSE
BOX_UNITS = 4
_FEWEST_PLACES = 256  # without an object; fewer may be those of images without one
_BOX_WORDS = re.compile(
    r"(?:^|_)(?:b?box(?:es)?|bb|reg|regress(?:ion|or)?|loc|locali[sz]ation|offsets?|coords?|coordinates|xywh|"
    r"[gcd]?iou|l1|mse|smooth_l1)(?:$|_)"
)
_CLASS_WORDS = re.compile(
    r"(?:^|_)(?:class(?:es|ification|ifier)?|cls|clf|labels?|conf|confidence|obj|objectness|scores?|kinds?|"
    r"categor(?:y|ies)|ce|cross_?entropy|focal)(?:$|_)"
)
#: Records of a loop at either end that are taken together, so that one batch does not decide.
_ENDS = 5
_FEWEST_RECORDS = 3
#: Of the loss of the best constant answer: below the first it has learned, above the second it has not.
_BELOW, _AT = 0.85, 0.95
#: Share by which a loss fell where no constant answer is known.
_FELL, _FLAT = 0.3, 0.1
#: Of the way from the share of the largest class to 1.
_ACCURATE, _NO_BETTER = 0.2, 0.05
#: How often an object has a higher score than a place without one; 0.5 by chance.
_FINDS, _FINDS_NOT = 0.95, 0.7


def targets(evidence: Evidence) -> Recorded[ev.DetectionTargetsSeen] | None:
    """Of the last fit, or of the loop."""
    return evidence.last(ev.DetectionTargetsSeen)


def without_objects(evidence: Evidence) -> Fact | None:
    """Targets of many places in which no place has an object, in all batches that were looked at."""
    seen = targets(evidence)
    if seen is None or not seen.event.ids or seen.event.box_rows:
        return None
    event = seen.event
    empty = len(event.ids) == 1
    # One batch may be without an object by chance.
    many = event.several and event.places >= _FEWEST_PLACES and (event.batches > 1 or event.step == 0)
    return (
        seen.fact("places.no-object", places=event.places, batches=event.batches) if empty and many else None
    )


def output(evidence: Evidence, name: str) -> Recorded[ev.OutputSeen] | None:
    """The newest that has this name; the only one, where there is one."""
    newest = outputs_seen(evidence)
    named = [one for one in newest if one.event.output == name]
    return named[-1] if named else _only(newest)


def box_output(evidence: Evidence) -> Recorded[ev.OutputSeen] | None:
    """What is compared with the boxes: by its name, else the only one of four numbers."""
    seen = targets(evidence)
    named = output(evidence, seen.event.boxes) if seen is not None else None
    if named is not None and not (_of_a_loop(named) and is_crossed(named)):
        return named
    return _only(
        [one for one in outputs_seen(evidence) if one.event.units == BOX_UNITS and not is_crossed(one)]
    )


def class_output(evidence: Evidence) -> Recorded[ev.OutputSeen] | None:
    """What is compared with the classes: by its name, else the only one with a cross-entropy."""
    seen = targets(evidence)
    named = output(evidence, seen.event.classes) if seen is not None else None
    if named is not None and not (_of_a_loop(named) and not is_crossed(named)):
        return named
    return _only([one for one in outputs_seen(evidence) if is_crossed(one)])


def _of_a_loop(one: Recorded[ev.OutputSeen]) -> bool:
    """Whose outputs have no names of their own."""
    return one.event.by == "call"


def is_crossed(one: Recorded[ev.OutputSeen]) -> bool:
    return one.event.loss in CROSS_ENTROPIES


def outputs_seen(evidence: Evidence) -> list[Recorded[ev.OutputSeen]]:
    seen = evidence.all(ev.OutputSeen)
    return [one for one in seen if one.event.fit == seen[-1].event.fit]


def _only(found: list[Recorded[ev.OutputSeen]]) -> Recorded[ev.OutputSeen] | None:
    return found[-1] if len({one.event.output for one in found}) == 1 else None


class LossPart(NamedTuple):
    """One part of the loss over the run, with the other numbers of the same records."""

    name: str
    values: list[float]
    totals: list[float | None]
    spans: list[float]  # the steps that each record is for: records of a loop are denser at its start
    by_epoch: bool
    source: str

    @property
    def stem(self) -> str:
        """The name of the output, as a rule."""
        return _stem(self.name)

    @property
    def first(self) -> float:
        return self.values[0] if self.by_epoch else median(self.values[:_ENDS])

    @property
    def last(self) -> float:
        return self.values[-1] if self.by_epoch else median(self.values[-_ENDS:])

    @property
    def fell(self) -> float:
        return (self.first - self.last) / max(abs(self.first), 1e-12)

    @property
    def fact(self) -> Fact:
        values = {"name": self.name, "first": self.first, "last": self.last, "records": len(self.values)}
        return Fact("loss.part-course", values, self.source)


class LossParts(NamedTuple):
    box: LossPart | None
    classes: LossPart | None


def count_of_terms(evidence: Evidence) -> int:
    """Numbers that a loop logs beside its loss, as far as they are read from how the loss is put together."""
    return max((len([name for name in log if name != "loss"]) for log in _records(evidence).logs), default=0)


def parts(evidence: Evidence) -> LossParts:
    """Of the loss, by what is compared in them, else by their names."""
    records, known = _records(evidence), terms(evidence)
    names = [name for name in records.newest if name in known or _is_part(name)]
    box = [name for name in names if (known[name] if name in known else _is_box(evidence, _stem(name)))]
    other = [name for name in names if name not in box]
    classes = [name for name in other if name in known or _is_class(evidence, _stem(name))]
    return LossParts(_part(records, box), _part(records, classes))


def terms(evidence: Evidence) -> dict[str, bool]:
    """Terms of a loss by what is compared in them: True for boxes, False for classes. Four numbers beside classes are a
    box, whether or not the targets were seen."""
    found: dict[str, bool] = {}
    boxes = any(one.event.term and is_crossed(one) for one in outputs_seen(evidence))
    for one in outputs_seen(evidence):
        if one.event.term and is_crossed(one):
            found[one.event.term] = False
        elif one.event.term and boxes and one.event.units == BOX_UNITS:
            found.setdefault(one.event.term, True)
    return found


def class_part(evidence: Evidence) -> LossPart | None:
    """The part of the loss for classes; of a model with one output, the loss."""
    found = parts(evidence).classes
    if found is not None:
        return found
    seen, alone = targets(evidence), _only(outputs_seen(evidence))
    records = _records(evidence)
    of_classes = seen is not None and not seen.event.columns and alone is not None
    return _part(records, ["loss"]) if of_classes and records.logs else None


class _Records(NamedTuple):
    """What is known of the loss: at the end of each epoch, else at some steps of a loop."""

    logs: list[dict[str, float]]
    steps: list[int | None]
    by_epoch: bool
    source: str

    @property
    def newest(self) -> dict[str, float]:
        return self.logs[-1] if self.logs else {}


def _records(evidence: Evidence) -> _Records:
    fit = evidence.fit
    epochs = list(fit.epochs) if fit is not None else []
    if epochs:
        return _Records([one.event.logs for one in epochs], [None] * len(epochs), True, epochs[-1].source)
    seen = [one for one in evidence.all(ev.LossSeen) if len(one.event.logs) > 2]
    logs = [one.event.logs for one in seen]
    return _Records(logs, [one.event.step for one in seen], False, seen[-1].source if seen else "")


def _part(records: _Records, names: list[str]) -> LossPart | None:
    """Of the first name; all of its values are finite."""
    if not names:
        return None
    values: list[float] = []
    totals: list[float | None] = []
    steps: list[int | None] = []
    for log, step in zip(records.logs, records.steps, strict=True):
        value = number_of(log.get(names[0]))
        if value is not None and math.isfinite(value):
            values.append(value)
            totals.append(number_of(log.get("loss")))
            steps.append(step)
    if len(values) < _FEWEST_RECORDS:
        return None
    return LossPart(names[0], values, totals, _spans(steps), records.by_epoch, records.source)


def _spans(steps: list[int | None]) -> list[float]:
    """Half the way to the record before and to the one after; equal where steps are not known."""
    known = [step for step in steps if step is not None]
    if len(known) < len(steps):
        return [1.0] * len(steps)
    around = [known[0], *known, known[-1]]
    return [max(1.0, (after - before) / 2) for before, after in zip(around, around[2:], strict=False)]


def _is_part(name: str) -> bool:
    if name == "loss" or name.startswith("val_"):
        return False
    whole = _BOX_WORDS.fullmatch(name) or _CLASS_WORDS.fullmatch(name)
    return "loss" in name or (whole is not None and "iou" not in name)


def _stem(name: str) -> str:
    return re.sub(r"(?:^loss_|_?loss$|^loss)", "", name)


def _is_box(evidence: Evidence, name: str) -> bool:
    seen, compared = targets(evidence), output(evidence, name)
    if seen is not None and name and name in (seen.event.boxes, seen.event.classes):
        return seen.event.boxes == name  # four classes have four units, too
    if compared is not None and compared.event.output == name and compared.event.loss in CROSS_ENTROPIES:
        return False
    four = compared is not None and compared.event.output == name and compared.event.units == BOX_UNITS
    return bool(_BOX_WORDS.search(name.lower())) or four


def _is_class(evidence: Evidence, name: str) -> bool:
    seen, compared = targets(evidence), output(evidence, name)
    if seen is not None and seen.event.classes == name and name:
        return True
    known = compared is not None and compared.event.output == name and compared.event.loss in CROSS_ENTROPIES
    return known or bool(_CLASS_WORDS.search(name.lower()))


def classes_learned(evidence: Evidence, part: LossPart | None) -> bool | None:
    """More than how frequent each class is; None where the numbers leave it open."""
    by_accuracy = _by_accuracy(evidence)
    if by_accuracy is not None:
        return by_accuracy
    by_scores = _by_scores(evidence)
    if by_scores is not None:
        return by_scores
    if part is None:
        return None
    constant = constant_class_loss(evidence)
    if constant is not None:
        share = part.last / constant
        return True if share < _BELOW else False if share > _AT else None
    return True if part.fell > _FELL else False if part.fell < _FLAT else None


def _by_scores(evidence: Evidence) -> bool | None:
    """Whether objects have higher scores than places without one; None where it is open or was not looked at."""
    seen, fit = evidence.last(ev.DetectionAnswersSeen), evidence.fit
    if seen is None or seen.event.apart is None or (fit is not None and seen.event.fit != fit.number):
        return None
    return True if seen.event.apart >= _FINDS else False if seen.event.apart < _FINDS_NOT else None


def _by_accuracy(evidence: Evidence) -> bool | None:
    accuracy, share = class_accuracy(evidence), majority(evidence)
    if accuracy is None or share is None or share >= 1:
        return None
    gained = (accuracy - share) / (1 - share)
    return True if gained > _ACCURATE else False if gained <= _NO_BETTER else None


def class_accuracy(evidence: Evidence) -> float | None:
    """In training, at the end, of the output that answers for classes."""
    seen = targets(evidence)
    newest = _records(evidence).newest
    if seen is None or not newest:
        return None
    named = [name for name in newest if "acc" in name and not name.startswith("val_")]
    own = [name for name in named if seen.event.classes and name.startswith(seen.event.classes)]
    several = [name for name in named if not _BOX_WORDS.search(name)]
    return number_of(newest.get((own or several or [""])[0]))


def majority(evidence: Evidence) -> float | None:
    """Share of the most frequent class among all places."""
    seen = targets(evidence)
    counts = seen.event.ids if seen is not None else {}
    return max(counts.values()) / max(1, sum(counts.values())) if counts else None


def constant_class_loss(evidence: Evidence) -> float | None:
    """Of the best answer that is the same for every place; None where that is not known."""
    seen, compared = targets(evidence), class_output(evidence)
    if seen is None or compared is None or compared.event.own_loss or not seen.event.ids:
        return None
    if compared.event.loss == "binary_crossentropy" and seen.event.rates:
        rates = [rate for rate in seen.event.rates if 0 < rate < 1]
        return sum(_binary(rate) for rate in rates) / len(seen.event.rates) if rates else None
    plain = ("binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy")
    if compared.event.loss not in plain or "-1" in seen.event.ids:
        return None
    total = sum(seen.event.ids.values())
    entropy = -sum(n / total * math.log(n / total) for n in seen.event.ids.values() if n)
    return entropy if entropy > 0 else None


def _binary(rate: float) -> float:
    return -rate * math.log(rate) - (1 - rate) * math.log(1 - rate)
