"""Boxes have another format or scale than the model, the images or the other boxes."""

from typing import Any

from holdfast.explain.causes.learning import detector_course as detection
from holdfast.explain.readings.course import course
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

_FEWEST_BOXES = 16
#: Shares of boxes of one kind and of the other, from which both are meant. Chosen: mistakes in labels are fewer.
_BOTH = 0.1
#: Boxes that cannot have a width and a height: nobody labels a box whose middle is outside of the image.
_SOME = 0.03
#: Pixels: no coordinate as a part of the image is as large.
_PIXELS = 4.0
#: Of the image's side, that a coordinate in it may have.
_BEYOND = 1.3
_ROOM = 1.05
#: Largest number that an activation gives.
_HIGHEST = {"sigmoid": 1.0, "hard_sigmoid": 1.0, "tanh": 1.0, "softmax": 1.0}
#: Share of boxes given by their corners, below which they are given otherwise.
_CORNERS = 0.9
#: An overlap that is this low finds nothing; a loss that fell by as much has learned.
_NO_OVERLAP, _FELL = 0.1, 0.5
#: The loss of an overlap that is nearly nothing.
_STAYS_HIGH = 0.85
#: Mean absolute deviation of a normal distribution, in standard deviations.
_MEAN_DEVIATION = 0.8
_FLAT = 0.1  # a loss that fell by less has learned nothing
#: Boxes with their edges in the wrong order in one direction, and none in the other: few of another kind are not.
_FEWEST_INVERTED, _INVERTED = 32, 0.2
_BOXES_BY_NAME = "box"
#: Of the image's side, that some coordinate has where boxes are in pixels; offsets of anchors are smaller.
_ACROSS = 0.5
#: Correlation of places with sizes, in both directions. Of 16 objects chance gives it once in ten thousand grids.
_FOLLOWS = -0.6
#: Shares of the objects of a map in its last row and in its last column; and of that, in its first ones. Chosen: of a
#: map of 6 places a side a row has a sixth of objects that lie anywhere.
_FEWEST_ON_MAP, _AT_EDGE, _AT_OTHER_EDGE = 32, 0.25, 0.25
#: Share of a grid's objects that are meant by "nearly all".
_NEARLY_ALL = 0.9


@cause(
    "boxes-wrong-format",
    specialises=(
        "loss-not-falling",
        "too-few-updates",
        "output-range-mismatch",
        "targets-not-scaled",
        "metric-mismatch",
        "box-loss-dominates",
        "labels-unrelated",
    ),
)
def boxes_wrong_format(evidence: Evidence) -> Finding | None:
    seen = detection.targets(evidence)
    if seen is None or seen.event.box_rows < _FEWEST_BOXES:
        return _clipped(evidence)
    if not seen.event.columns:
        return (_of_cells(evidence, seen) if seen.event.cells else None) or _clipped(evidence)
    for look in (_out_of_reach, _two_scales, _mirrored, _two_formats, _no_overlap, _beyond_the_image):
        found = look(evidence, seen)
        if found is not None:
            return found
    return None


def _finding(
    seen: Recorded[ev.DetectionTargetsSeen],
    kind: str,
    sure: bool,
    remedy: Remedy,
    values: dict[str, Any],
    *more: Fact,
) -> Finding:
    columns = [[column[0], column[1]] for column in seen.event.columns]
    about = seen.fact("boxes.columns", columns=columns, rows=seen.event.box_rows, corners=seen.event.corners,
                      image=list(seen.event.image))  # fmt: skip
    return Finding(
        Strength.supported_if(sure),
        Title(kind, values),
        facts(about, more),
        [remedy, Remedy("boxes.draw")],
        ends=False,
    )


def _largest(event: ev.DetectionTargetsSeen) -> float:
    return max(column[1] for column in event.columns)


def _smallest(event: ev.DetectionTargetsSeen) -> float:
    return min(column[0] for column in event.columns)


def _out_of_reach(evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen]) -> Finding | None:
    """Pixels, and an output that gives parts of the image."""
    compared, event = detection.box_output(evidence), seen.event
    if (
        compared is None
        or compared.event.units != len(event.columns)
        or compared.event.activation not in _HIGHEST
    ):
        return None
    high = _largest(event)
    if high < _PIXELS or (event.by_one or 0.0) > _BOTH or not (event.image or event.classes):
        return None
    values = {"activation": compared.event.activation, "high": high, "where": compared.event.where,
              "image": event.image, "units": len(event.columns)}  # fmt: skip
    output = compared.fact("boxes.output", **values)
    return _finding(
        seen,
        "boxes-wrong-format.pixels",
        bool(compared.event.loss) or _flat(evidence),  # a loss of the user's own may scale what it compares
        Remedy("boxes.divide", values),
        values,
        output,
        *_loss(evidence),
    )


def _flat(evidence: Evidence) -> bool:
    training = course(evidence)
    return training is not None and abs(training.fell) < _FLAT


def _two_scales(evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen]) -> Finding | None:
    event = seen.event
    by_one = event.by_one or 0.0
    mixed = _BOTH <= by_one <= 1 - _BOTH and _largest(event) >= _PIXELS and _smallest(event) >= 0
    if not mixed or not event.image:
        return None
    within = _largest(event) <= _BEYOND * max(event.image)
    values = {"by_one": by_one, "high": _largest(event)}
    return _finding(
        seen, "boxes-wrong-format.two-scales", within, Remedy("boxes.one-scale"), values, *_loss(evidence)
    )


def _mirrored(evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen]) -> Finding | None:
    """Some boxes beside the image, or with left and right exchanged, and nothing of the kind in the other direction."""
    event = seen.event
    for axis in (0, 1) if event.inverted and event.outside else ():
        low = [min(column[0] for column in event.columns[one::2]) for one in (0, 1)]
        other, side = 1 - axis, max(event.image, default=0)
        across = _PIXELS <= _largest(event) <= _BEYOND * side and _largest(event) >= _ACROSS * side
        beside = _BOTH <= event.outside[axis] <= 1 - _BOTH and low[other] >= 0 and low[axis] <= -_PIXELS
        values = {"axis": "xy"[axis], "outside": event.outside[axis], "inverted": event.inverted[axis]}
        if across and beside:
            kind, sure = "boxes-wrong-format.beside", True
        elif _changed_about(event, axis) and (_BOXES_BY_NAME in event.boxes or event.classes or event.ids):
            kind, sure = "boxes-wrong-format.inverted", _learned(evidence, event) is not True
        else:
            continue
        return _finding(seen, kind, sure, Remedy("boxes.mirror", values), values, *_loss(evidence))
    return None


def _changed_about(event: ev.DetectionTargetsSeen, axis: int) -> bool:
    of_one, of_other = event.inverted[axis], event.inverted[1 - axis]
    return event.box_rows >= _FEWEST_INVERTED and _INVERTED <= of_one <= 1 - _INVERTED and of_other == 0


def _of_cells(evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen]) -> Finding | None:
    """All objects in one cell of the grid, as pixels divided by nothing are; or sizes below 0, as
    a width that is taken for a corner gives: it falls as the place grows, which a logarithm of a size does not."""
    cells = seen.event.cells
    one_cell = cells["one_cell"] >= _NEARLY_ALL and cells["beyond"] >= _NEARLY_ALL
    negative = cells["negative"] >= _SOME and cells["follows"] <= _FOLLOWS
    if not one_cell and not (negative and cells["beyond"] == 0):
        return None
    kind = "boxes-wrong-format.one-cell" if one_cell else "boxes-wrong-format.negative-size"
    return Finding(
        Strength.SUPPORTED,
        Title(kind, dict(cells)),
        facts(seen.fact("boxes.cells", **cells), *_loss(evidence)),
        [Remedy("boxes.cell-of-parts" if one_cell else "boxes.one-format"), Remedy("boxes.draw")],
        ends=False,
    )


def _clipped(evidence: Evidence) -> Finding | None:
    """Objects in the last row and in the last column of a map, and not in its first ones: what lies beyond the map was
    clipped to its edge, in both directions, as coordinates of a larger image are."""
    seen = evidence.last(ev.ObjectMapsSeen)
    if seen is None or seen.event.objects < _FEWEST_ON_MAP:
        return None
    event = seen.event
    last, first = min(event.bottom, event.right) / event.objects, max(event.top, event.left) / event.objects
    if last < _AT_EDGE or first > _AT_OTHER_EDGE * last:
        return None
    values = {"objects": event.objects, "rows": event.rows, "columns": event.columns,
              "bottom": event.bottom, "right": event.right, "first": max(event.top, event.left)}  # fmt: skip
    return Finding(
        Strength.SUPPORTED,
        Title("boxes-wrong-format.clipped", values),
        facts(seen.fact("boxes.at-edge", **values), *_loss(evidence)),
        [Remedy("boxes.scale-with-image"), Remedy("boxes.draw")],
        ends=False,
    )


def _two_formats(evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen]) -> Finding | None:
    """Some boxes cannot be corners, and others cannot have a width and a height in the image."""
    event = seen.event
    corners, no_size = event.corners, event.no_size
    if corners is None or no_size is None or not event.image or _smallest(event) < 0:
        return None
    side = max(event.image) if _largest(event) > _ROOM else 1.0
    if corners > 1 - _BOTH or no_size < _SOME or _largest(event) > _ROOM * side:
        return None
    known = bool(event.classes) or detection.parts(evidence).box is not None or _BOXES_BY_NAME in event.boxes
    values = {"no_corners": 1 - corners, "no_size": no_size}
    learned = _learned(evidence, event)
    sure = known and learned is not True
    return _finding(
        seen, "boxes-wrong-format.two-formats", sure, Remedy("boxes.one-format"), values, *_loss(evidence)
    )


def _no_overlap(evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen]) -> Finding | None:
    """The overlap stays at nothing although the numbers come close, or although it is what is minimised."""
    event = seen.event
    overlap = _overlap(evidence)
    if overlap is None or event.corners is None or event.corners > _CORNERS:
        return None
    values = {
        "overlap": overlap.values["last"],
        "name": overlap.values["name"],
        "no_corners": 1 - event.corners,
    }
    return _finding(seen, "boxes-wrong-format.not-corners", True, Remedy("boxes.to-corners"), values, overlap)


def _overlap(evidence: Evidence) -> Fact | None:
    """A measure or a loss of overlap that shows none, of a training that ran as long as it was meant to."""
    epochs = list(evidence.fit.epochs) if evidence.fit is not None else []
    if len(epochs) < 2:
        return None
    logs, training = epochs[-1].event.logs, course(evidence)
    named = [name for name in logs if "iou" in name.lower() and not name.startswith("val_")]
    for name in named:
        last = number_of(logs[name])
        low = last is not None and "loss" not in name and last < _NO_OVERLAP
        if low and training is not None and training.fell > _FELL:
            return epochs[-1].fact("overlap.none", name=name, last=last, fell=training.fell)
    by_overlap = [one for one in evidence.all(ev.OutputSeen) if "iou" in one.event.loss.lower()]
    if by_overlap and training is not None and training.last > _STAYS_HIGH:
        name = by_overlap[-1].event.loss
        return epochs[-1].fact("overlap.none", name=name, last=max(0.0, 1 - training.last), fell=None)
    return None


def _beyond_the_image(evidence: Evidence, seen: Recorded[ev.DetectionTargetsSeen]) -> Finding | None:
    event = seen.event
    if not event.image or _largest(event) <= _BEYOND * max(event.image) or _smallest(event) < 0:
        return None
    values = {"high": _largest(event), "image": event.image}
    sure = _learned(evidence, event) is False
    return _finding(
        seen, "boxes-wrong-format.beyond", sure, Remedy("boxes.scale-with-image"), values, *_loss(evidence)
    )


def _learned(evidence: Evidence, event: ev.DetectionTargetsSeen) -> bool | None:
    """Whether the part of the loss for boxes is better than that of their mean."""
    compared, part = detection.box_output(evidence), detection.parts(evidence).box
    training = course(evidence)
    last = part.last if part is not None else training.last if training is not None else None
    fell = part.fell if part is not None else training.fell if training is not None else None
    if last is None or fell is None:
        return None
    spreads = [column[3] for column in event.columns]
    known = compared is not None and event.box_rows == event.places
    if known and compared is not None and compared.event.loss == "mean_squared_error":
        return last < _FELL * sum(spread**2 for spread in spreads) / len(spreads)
    if known and compared is not None and compared.event.loss == "mean_absolute_error":
        return last < _FELL * _MEAN_DEVIATION * sum(spreads) / len(spreads)
    return True if fell > _FELL else None if fell > _FLAT else False


def _loss(evidence: Evidence) -> list[Fact]:
    part, training = detection.parts(evidence).box, course(evidence)
    return facts(part.fact if part is not None else training.fact if training is not None else None)
