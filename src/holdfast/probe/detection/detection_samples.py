"""Numbers about the targets and answers of a detector: boxes of four numbers, and a class for each place or box."""

from __future__ import annotations

from typing import Any

from ...journal.events import DetectionAnswersSeen, DetectionTargetsSeen
from ..learning.value_samples import sample_of
from . import detection_grids

_BOX = 4
_MOST_PLACES = 200_000  # rows of a sample times places
_MOST_CLASSES = 100  # different ids: more are words or pixels, not classes of objects
_LISTED = 20
_MOSTLY = 0.95
_BY_ONE = 1.05  # coordinates as shares of the image, with some room
_NINE_OF_TEN, _MOST_FALSE = 0.9, 0.02  # objects that a limit finds, and places without one above it
_FEW_EMPTY = 0.5  # of the places of a map
_CHANNELS = (1, 3, 4)
_RANKS = (2, 3, 4)  # one box a row, boxes or anchors in a row, a grid


def targets_seen(
    inputs: list[Any], targets: list[Any], names: list[str], *, step: int = 0, fit: int | None = None, where: str = ""
) -> DetectionTargetsSeen | None:  # fmt: skip
    """None where the targets are neither boxes nor classes of several places in a row."""
    cells = detection_grids.cells_seen(targets[0]) if len(targets) == 1 else None
    if cells is not None:
        image, count = _image(inputs), int(cells["objects"])
        return DetectionTargetsSeen(
            step=step,
            fit=fit,
            where=where,
            image=image,
            packed=True,
            box_rows=count,
            places=count,
            cells=cells,
        )
    packed = _unpacked(targets[0]) if len(targets) == 1 else None
    if packed is not None:
        seen = targets_seen(inputs, list(packed), ["", ""], step=step, fit=fit, where=where)
        return seen.changed(packed=True, boxes="", classes="") if seen is not None else None
    box = next((place for place, one in enumerate(targets) if _is_box(one)), None)
    classes = [place for place, one in enumerate(targets) if place != box and _is_classes(one)]
    # Beside a mask, which is whole numbers too, the ids are those that go up to more than 1.
    several = [place for place in classes if box is None and targets[place].max() > 1]
    ids = next(iter([*several, *classes]), None)
    if ids is not None and box is None and targets[ids].ndim == (1 if _width(targets[ids]) == 1 else 2):
        return None
    if box is None and ids is None:
        return None
    about: dict[str, Any] = {"step": step, "fit": fit, "where": where, "image": _image(inputs)}
    if box is not None:
        about.update(_of_boxes(_sampled(targets[box]), about["image"]), boxes=_name(names, box, len(targets)))
    if ids is not None:
        classes = _sampled(targets[ids], targets[box] if box is not None else None)
        boxes = _sampled(targets[box]) if box is not None else None
        filled = _filled(boxes) if boxes is not None else None
        places = targets[box].shape[:-1] if box is not None else None
        about.update(_of_classes(classes, filled, places), classes=_name(names, ids, len(targets)))
        about["padded"] = _padded(boxes, filled) if boxes is not None else None
        if box is None:
            about.update(_by_mask(targets, ids))
    return DetectionTargetsSeen(**about)


def _by_mask(targets: list[Any], ids: int) -> dict[str, Any]:
    """Ids of cells beside a mask that says which have an object: another target of zeros and ones in their shape."""
    places = _sampled(targets[ids])
    for place, one in enumerate(targets):
        mask = _sampled(one, targets[ids]) if place != ids and one.size == targets[ids].size else None
        if mask is None or mask.shape[0] != places.shape[0] or not _is_mask(mask):
            continue
        filled = mask.reshape(-1) != 0
        flat = places.reshape(-1)
        return {
            "box_rows": int(filled.sum()),
            "with_box": _counted(flat[filled]),
            "without_box": _counted(flat[~filled]),
        }
    return {}


def _is_mask(array: Any) -> bool:
    return bool(((array == 0) | (array == 1)).all()) and 0 < array.mean() < _FEW_EMPTY


def cells_seen(cells: list[tuple[Any, Any]]) -> DetectionTargetsSeen | None:
    """Of ids of cells, with whether each has an object."""
    import numpy as np

    if not cells:
        return None
    ids, filled = (np.concatenate(parts) for parts in zip(*cells))
    about = _of_classes(ids[:, None], filled, None)
    about["several"] = True
    return DetectionTargetsSeen(step=1, batches=len(cells), box_rows=int(filled.sum()), **about)


def _unpacked(array: Any) -> tuple[Any, Any] | None:
    """Boxes and ids of a map whose fifth column, or first, is a class: a place without an object is all zeros."""
    import numpy as np

    if array.ndim not in _RANKS[1:] or array.shape[-1] != _BOX + 1:
        return None
    rows = _sampled(array).reshape(-1, _BOX + 1).astype("float64")
    empty = (rows == 0).all(axis=1)
    if not np.isfinite(rows).all() or not _FEW_EMPTY < empty.mean() < 1:
        return None
    whole = (rows == np.floor(rows)).all(axis=0) & (rows.min(axis=0) >= 0)
    place = next(
        (one for one in (0, _BOX) if whole[one] and 1 < len(np.unique(rows[:, one])) <= _MOST_CLASSES), None
    )
    if place is None or rows[:, place].max() < 2:  # of two values it says whether there is a box
        return None
    others = [one for one in range(_BOX + 1) if one != place]
    return (array[..., others], array[..., place]) if not whole[others].all() else None


def packed_answers_seen(target: Any, answers: Any, *, step: int, fit: int | None) -> Any:
    """Of a map with boxes and ids: whether any number of the model tells the places with an object, class by class."""
    import numpy as np

    unpacked = _unpacked(np.asarray(target))
    if unpacked is None:
        return None
    boxes, ids = unpacked[0].reshape(-1, _BOX), unpacked[1].astype("int64").reshape(-1)
    given = np.asarray(answers)
    scores = given.reshape(-1, given.shape[-1]).astype("float64") if given.ndim > 1 else given
    if (
        scores.ndim != 2
        or len(scores) != len(ids)
        or scores.shape[1] > _MOST_CLASSES
        or not np.isfinite(scores).all()
    ):
        return None
    objects, most = (boxes != 0).any(axis=1), int(ids[(boxes == 0).all(axis=1)][0])
    shown = {str(one): objects & (ids == one) for one in np.unique(ids[objects])[:_LISTED]}
    found = _found_by_id(scores, objects & (ids != most), ~objects, shown)
    return DetectionAnswersSeen(
        fit=fit, step=step, places=len(ids), most_frequent=most, wanted=_counted(ids), found_by_id=found,
    )  # fmt: skip


def _found_by_id(scores: Any, others: Any, empty: Any, by_id: dict[str, Any]) -> dict[str, float]:
    """Share of the objects of each id that are found where nine of ten of the others are, by the number that tells them
    best; nothing where every number finds many places without one."""
    import numpy as np

    signed = [sign * scores[:, column] for column in range(scores.shape[1]) for sign in (1, -1)]
    if not others.any() or not empty.any():
        return {}
    by_number = []
    for one in signed:
        limit = np.quantile(one[others], 1 - _NINE_OF_TEN)
        if (one[empty] >= limit).mean() <= _MOST_FALSE:
            by_number.append(
                {name: round(float((one[own] >= limit).mean()), 4) for name, own in by_id.items()}
            )
    return max(by_number, key=lambda found: min(found.values()), default={})


def mostly_one_class(seen: DetectionTargetsSeen) -> bool:
    """Places of which most have the same class, as those without an object have."""
    counts = list(seen.ids.values())
    of_places = seen.several or bool(seen.columns)
    return of_places and len(counts) > 1 and counts[0] >= sum(counts) / 2


def answers_seen(targets: Any, answers: Any, name: str, *, step: int, fit: int | None) -> Any:
    """How a model answers for the classes of each place, beside the classes that are wanted; else None."""
    import numpy as np

    wanted, given = np.asarray(targets), np.asarray(answers)
    if not _is_classes(wanted) or given.ndim < 2 or not np.isfinite(given).all():
        return None
    ids = _ids(wanted, given.shape[:-1])
    width = given.shape[-1]
    scores = given.reshape(-1, width)
    if len(scores) != len(ids) or width > _MOST_CLASSES:
        return None
    found, counts = np.unique(ids, return_counts=True)
    most = int(found[counts.argmax()])
    object_score = _score_of_objects(scores, most, np)
    answered = scores.argmax(axis=1) if width > 1 and most >= 0 else None
    return DetectionAnswersSeen(
        fit=fit, step=step, name=name, places=len(ids), most_frequent=most,
        wanted=_counted(ids), answered=_counted(answered) if answered is not None else {},
        highest=float(object_score.max()), apart=_apart(object_score, ids != most, np),
    )  # fmt: skip


def _score_of_objects(scores: Any, most: int, np: Any) -> Any:
    """The largest number of a class that is not the most frequent one; of one unit, that unit."""
    if scores.shape[1] == 1:
        return scores[:, 0] if most <= 0 else -scores[:, 0]
    if most < 0 or most >= scores.shape[1]:
        return scores.max(axis=1)
    return np.delete(scores, most, axis=1).max(axis=1) - scores[:, most]


def _apart(scores: Any, is_object: Any, np: Any) -> float | None:
    """How often an object has a higher score than a place without one: 0.5 by chance, also where all are equal."""
    objects, others = scores[is_object], np.sort(scores[~is_object])
    if not len(objects) or not len(others):
        return None
    below, up_to = np.searchsorted(others, objects, "left"), np.searchsorted(others, objects, "right")
    return round(float(((below + up_to) / 2).mean() / len(others)), 4)


def _is_box(array: Any) -> bool:
    """Four numbers in the last axis that are no class of four; a fifth says whether there is a box."""
    import numpy as np

    if array.ndim not in _RANKS or array.shape[-1] not in (_BOX, _BOX + 1):
        return False
    rows = np.asarray(sample_of(array, 256), dtype="float64").reshape(-1, array.shape[-1])
    if rows.shape[1] > _BOX and not np.isin(rows[:, _BOX], (0.0, 1.0)).all():
        return False
    rows = rows[:, :_BOX]
    return not bool(np.isin(rows, (0.0, 1.0)).all()) and bool(np.isfinite(rows).all())


def _is_classes(array: Any) -> bool:
    """Whole ids, or rows of zeros and ones."""
    import numpy as np

    if not 1 <= array.ndim <= max(_RANKS) or not array.size:
        return False
    values = np.asarray(sample_of(array, 256), dtype="float64")
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    if _width(array) > 1 and values.max() <= 1 and values.min() >= 0 and array.shape[-1] <= _MOST_CLASSES:
        return bool((values.sum(axis=-1) <= 1).all()) or array.ndim < len(_RANKS)
    return len(np.unique(values)) <= _MOST_CLASSES and values.min() >= -1


def _width(array: Any, places: Any = None) -> int:
    """Of the classes in the last axis; 1 for ids. `places`: the shape of the boxes or answers without their numbers,
    as ids of it look like rows of zeros and ones where each row has one object."""
    import numpy as np

    if array.ndim < 2 or (places is not None and tuple(array.shape[1:]) == tuple(places[1:])):
        return 1
    values = np.asarray(sample_of(array, 256), dtype="float64")
    rows_of_one = values.max() <= 1 and values.min() >= 0 and (values.sum(axis=-1) <= 1).all()
    return int(array.shape[-1]) if rows_of_one and array.shape[-1] > 1 else 1


def _ids(array: Any, places: Any = None) -> Any:
    """One for each place; -1: no class."""
    import numpy as np

    width = _width(array, places)
    if width == 1:
        return np.asarray(array, dtype="int64").reshape(-1)
    rows = np.asarray(array).reshape(-1, width)
    return np.where(rows.max(axis=1) > 0, rows.argmax(axis=1), -1)


def _sampled(array: Any, like: Any = None) -> Any:
    """`like`: another array whose rows are taken, so that the two belong together."""
    import numpy as np

    by = array if like is None else like
    places = max(1, by[:1].size // max(1, by.shape[-1] if by.ndim > 1 else 1))
    return np.asarray(sample_of(array, max(1, _MOST_PLACES // places)))


def _filled(boxes: Any) -> Any:
    """Rows that are a box, as their fifth number says; without one, padding repeats one number."""
    rows = boxes.reshape(-1, boxes.shape[-1])
    if rows.shape[1] > _BOX:
        return rows[:, _BOX] > 0
    return ~(rows == rows[:, :1]).all(axis=1)


def _padded(boxes: Any, filled: Any) -> float | None:
    """Of the images with some places filled and some not, the share in which the filled ones are the first: a list of
    boxes that was made longer, and no anchors or cells."""
    rows = filled.reshape(len(boxes), -1)
    rows = rows[rows.any(axis=1) & ~rows.all(axis=1)]
    return float((rows[:, 1:] <= rows[:, :-1]).all(axis=1).mean()) if len(rows) else None


def _of_boxes(boxes: Any, image: list[int]) -> dict[str, Any]:
    import numpy as np

    rows = boxes.reshape(-1, boxes.shape[-1])[:, :_BOX].astype("float64")
    filled = _filled(boxes)
    rows, every = rows[filled], len(rows)
    about = {"places": every, "box_rows": len(rows)}
    if not len(rows):
        return about
    by_one = (abs(rows) <= _BY_ONE).all(axis=1)
    wide, high = (image[1], image[0]) if image and rows.max() > _BY_ONE else (1.0, 1.0)
    wide, high = (wide * _BY_ONE, high * _BY_ONE)
    beyond = (rows[:, 0] + rows[:, 2] / 2 > wide) | (rows[:, 1] + rows[:, 3] / 2 > high)
    if ((rows[:, 1] >= rows[:, 0]) & (rows[:, 3] >= rows[:, 2])).mean() > _MOSTLY:
        beyond = beyond & False  # both x, then both y: corners in another order
    columns = [
        [float(of(axis=0)[place]) for of in (rows.min, rows.max, rows.mean, rows.std)]
        for place in range(_BOX)
    ]
    return {
        **about,
        "columns": [[float(f"{value:.6g}") for value in column] for column in columns],
        "corners": float(((rows[:, 2] >= rows[:, 0]) & (rows[:, 3] >= rows[:, 1])).mean()),
        "by_one": float(by_one.mean()),
        "no_size": float(beyond.mean()),
        "inverted": [float((rows[:, one + 2] < rows[:, one]).mean()) for one in (0, 1)],
        "outside": [float((rows[:, one] + np.maximum(rows[:, one + 2], 0) < 0).mean()) for one in (0, 1)],
    }


def _of_classes(classes: Any, filled: Any, places: Any) -> dict[str, Any]:
    ids, width = _ids(classes, places), _width(classes, places)
    about: dict[str, Any] = {
        "ids": _counted(ids), "highest_id": int(ids.max()), "lowest_id": int(ids.min()), "places": len(ids),
        "several": classes.ndim > (2 if width > 1 else 1) and classes.shape[1] > 1,
    }  # fmt: skip
    if width > 1:
        about["rates"] = [round(float(rate), 6) for rate in classes.reshape(-1, width).mean(axis=0)]
    if filled is not None and len(filled) == len(ids):
        about.update(with_box=_counted(ids[filled]), without_box=_counted(ids[~filled]))
    return about


def _counted(ids: Any) -> dict[str, int]:
    import numpy as np

    found, counts = np.unique(ids, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_LISTED]
    return {str(int(found[place])): int(counts[place]) for place in order}


def _image(inputs: list[Any]) -> list[int]:
    """Height and width."""
    shape: Any = inputs[0].shape if len(inputs) == 1 else ()
    if len(shape) != _BOX:
        return []
    if shape[-1] in _CHANNELS:
        return [int(shape[1]), int(shape[2])]
    return [int(shape[2]), int(shape[3])] if shape[1] in _CHANNELS else []


def _name(names: list[str], place: int, of: int) -> str:
    """ "" for the only one, as its output has."""
    if of == 1:
        return ""
    return names[place] if place < len(names) else str(place)
