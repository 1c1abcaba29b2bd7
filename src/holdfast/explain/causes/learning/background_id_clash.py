"""One class id is used for background and for objects."""

from holdfast.explain.causes.learning import detector_course as detection
from holdfast.explain.readings.course import weighted
from holdfast.explain.rule import Evidence, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

#: Share of the places without a box that have one id, from which that id is the background.
_BACKGROUND = 0.9
#: Boxes with that id, and their share of all boxes: fewer are mistakes in labels.
_FEWEST, _SHARE = 5, 0.03
_FEWEST_PLACES = 16
#: Share of the images whose boxes come first, from which places are those of a list that was padded.
_LISTS = 0.5
_MOSTLY = 0.5
#: How often an object has a higher score than a place without one, from which objects are found.
_FINDS = 0.95
#: Shares of objects that the model tells from places without one: of other ids at least, of the background's at most.
_FOUND, _FOUND_NOT = 0.75, 0.2


@cause(
    "background-id-clash",
    specialises=(
        "loss-not-falling",
        "too-few-updates",
        "class-imbalance",
        "all-background",
        "labels-unrelated",
        "labels-constant",
    ),
)
def background_id_clash(evidence: Evidence) -> Finding | None:
    seen = detection.targets(evidence)
    if seen is None or not seen.event.ids or seen.event.lowest_id is None:
        return None
    units = _units(evidence, seen)
    only = _only_one_id(evidence, seen, units)
    if only is not None:
        return only
    by_answers = _by_answers(evidence, seen) or _of_anchors(evidence, seen, units)
    if by_answers is not None:
        return by_answers
    if seen.event.packed:
        return None
    spare = units is not None and seen.event.highest_id is not None and seen.event.highest_id == units - 2
    clash = _in_both(seen.event)
    if not spare or units is None or (clash is None and not _by_frequency(seen.event)):
        return None
    compared = detection.class_output(evidence)
    plain = (
        compared is not None and compared.event.loss in detection.CROSS_ENTROPIES and not weighted(evidence)
    )
    values = {"class_id": clash if clash is not None else "0", "units": units, "unused": units - 1,
              "objects": seen.event.with_box.get(clash or "", 0), "empty": seen.event.without_box.get(clash or "", 0),
              "where": compared.event.where if compared is not None else ""}  # fmt: skip
    both = clash is not None
    return Finding(
        Strength.supported_if(both and plain),
        Title("background-id-clash" if both else "background-id-clash.unused", values),
        facts(both and seen.fact("ids.of-both", **values), seen.fact("ids.unused-unit", **values)),
        [Remedy("ids.shift", values), Remedy("ids.last-is-background", values)],
        ends=False,
    )


def _of_anchors(
    evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen], units: int | None
) -> Finding | None:
    """Places that lie in the image, as anchors do: with no other output, the class has to say which have no object."""
    event, clash = seen.event, _in_both(seen.event)
    if clash is None or event.padded is None or event.padded > _LISTS or event.packed or weighted(evidence):
        return None
    if units is None or units - 1 != event.highest_id or not _class_alone(evidence, seen):
        return None
    values = {"class_id": clash, "objects": event.with_box.get(clash, 0), "empty": event.without_box.get(clash, 0),
              "units": units, "unused": None}  # fmt: skip
    return Finding(
        Strength.SUPPORTED,
        Title("background-id-clash", values),
        facts(seen.fact("ids.of-both", **values), seen.fact("ids.no-other-output", **values)),
        [Remedy("ids.shift", values)],
        ends=False,
    )


def _class_alone(
    evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen], *, unread: bool = False
) -> bool:
    """Beside the class there is one output, of four numbers, and nothing that says where an object is. `unread`: the
    loss of the boxes of a loop may be one that is not read, where a cross-entropy of objects would have been."""
    compared = detection.class_output(evidence)
    if compared is None:
        return False
    if compared.event.by == "compile":
        return _outputs_besides(evidence, seen) == [detection.BOX_UNITS]
    # The names of a loop's outputs are those of lines.
    every = [one.event for one in detection.outputs_seen(evidence)]
    others = {
        one.units for one in every if one.units != compared.event.units or one.loss != compared.event.loss
    }
    four = others == {detection.BOX_UNITS} or (unread and not others)
    return four and detection.count_of_terms(evidence) <= 2


def _only_one_id(
    evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen], units: int | None
) -> Finding | None:
    """Every place has the same id, with and without a box, and nothing but the class says where an object is."""
    event, compared = seen.event, detection.class_output(evidence)
    if event.packed or len(event.ids) != 1 or compared is None:
        return None
    clash = next(iter(event.ids))
    objects, empty = event.with_box.get(clash, 0), event.without_box.get(clash, 0)
    if objects < _FEWEST_PLACES or empty < _FEWEST_PLACES or clash == "-1" or units is None:
        return None
    plain = not compared.event.own_loss and not weighted(evidence)
    if not _class_alone(evidence, seen, unread=True):
        return None
    values = {"class_id": clash, "objects": objects, "empty": empty, "units": units,
              "unused": units - 1 if units > 1 else None, "where": compared.event.where}  # fmt: skip
    return Finding(
        Strength.supported_if(plain),
        Title("background-id-clash.only", values),
        facts(seen.fact("ids.of-both", **values), units == 2 and seen.fact("ids.unused-unit", **values)),
        [Remedy("ids.shift", values)],
        ends=False,
    )


def _by_answers(evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen]) -> Finding | None:
    """The model has learned the objects of the other ids, and calls those with the id of the background background."""
    clash, answers, fit = _in_both(seen.event), evidence.last(ev.DetectionAnswersSeen), evidence.fit
    if clash is None or answers is None or fit is None or answers.event.fit != fit.number:
        return None
    units = _units(evidence, seen)
    values = {"class_id": clash, "objects": seen.event.with_box.get(clash, 0),
              "empty": seen.event.without_box.get(clash, 0), "units": units, "unused": None}  # fmt: skip
    if seen.event.packed:
        found = dict(answers.event.found_by_id)
        own = found.pop(clash, None)
        if own is None or not found or own > _FOUND_NOT or min(found.values()) < _FOUND:
            return None
        shown = answers.fact("ids.not-found", class_id=clash, found=own, others=min(found.values()))
    else:
        event, others = answers.event, _outputs_besides(evidence, seen)
        as_background = event.answered.get(clash, 0) >= _BACKGROUND * event.wanted.get(clash, 1)
        # With an output of its own for where an object is, the class of the other places says nothing.
        if str(event.most_frequent) != clash or not as_background or (event.apart or 0.0) < _FINDS:
            return None
        if units is None or units - 1 != seen.event.highest_id or others != [detection.BOX_UNITS]:
            return None
        shown = answers.fact(
            "ids.answered", class_id=clash, answered=event.answered.get(clash, 0), places=event.places
        )
    return Finding(
        Strength.SUPPORTED,
        Title("background-id-clash", values),
        facts(seen.fact("ids.of-both", **values), shown),
        [Remedy("ids.shift", values)],
        ends=False,
    )


def _outputs_besides(evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen]) -> list[int | None]:
    found = {one.event.output: one.event.units for one in evidence.all(ev.OutputSeen)}
    return [units for name, units in found.items() if name != seen.event.classes]


def _units(evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen]) -> int | None:
    if seen.event.rates:
        return len(seen.event.rates)
    compared = detection.class_output(evidence)
    return compared.event.units if compared is not None else None


def _in_both(event: ev.DetectionTargetsSeen) -> str | None:
    """The id of nearly all places without a box that objects have as well, where objects have several ids."""
    empty, objects = sum(event.without_box.values()), sum(event.with_box.values())
    if empty < _FEWEST_PLACES or objects < _FEWEST_PLACES or len(event.with_box) < 2:
        return None
    background, times = max(event.without_box.items(), key=lambda one: one[1])
    of_objects = event.with_box.get(background, 0)
    clash = times >= _BACKGROUND * empty and of_objects >= max(_FEWEST, _SHARE * objects)
    return background if clash and background != "-1" else None


def _by_frequency(event: ev.DetectionTargetsSeen) -> bool:
    """Most places have id 0, and which of them have a box was not seen."""
    total = sum(event.ids.values())
    unknown = not event.with_box and not event.without_box
    return unknown and event.several and len(event.ids) > 2 and event.ids.get("0", 0) >= _MOSTLY * total
