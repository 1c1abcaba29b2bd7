"""Images of one split that show what an image of another shows: a cut of it, or the next frame of its video."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.data.dataset_reader import Problem
from holdfast.data.pixels.object_looks import patch_of

if TYPE_CHECKING:
    from holdfast.data.pixels.look_sample import CloseLook

FEWEST = 4  # images of the smaller split
PATCH = 10
CANDIDATES = 4  # objects of the other split for each object
ALIKE_PATCH = 0.8  # correlation of two objects from which the images around them are compared
SAME_VIEW = 0.9  # correlation of what both images show
STRANGER = 0.25  # and how much more that is than with other images of the other split
LEAST_SCALE = (
    0.04  # logarithm: a cut that was not scaled is no evidence, a fixed camera's background is the same
)
GRID = 24
SAME_FRAME = 0.95  # correlation of two complete images
SAME_BOX = 0.5  # overlap of a box and its like in the next frame
SAME_BOXES = 0.7  # mean of these
MOST_FRAMES = 0.4  # of the images of the smaller split have such a neighbour, or more


def problems(looks: Sequence[CloseLook], path: str) -> Iterator[Problem]:
    """Between the largest split and each other one."""
    sizes = Counter(look.split for look in looks)
    if len(sizes) < 2:
        return
    largest = max(sizes, key=lambda split: sizes[split])
    known = [look for look in looks if look.split == largest]
    for split in sizes:
        if split != largest and sizes[split] >= FEWEST:
            part = [look for look in looks if look.split == split]
            for one, other in cuts(part, known):
                said = f"shows a part of {other.file}, at another size; one is in {split}, the other in {largest}"
                yield Problem("split-siblings", one.file, said)
            yield from _frames(part, known, path)


# -- the next frame ------------------------------------------------------------------------------


def _frames(part: Sequence[CloseLook], known: Sequence[CloseLook], path: str) -> Iterator[Problem]:
    import numpy as np

    here, there = _complete([look.pixels for look in part]), _complete([look.pixels for look in known])
    alike = here @ there.T
    pairs = []
    for at in range(len(part)):
        for place in np.flatnonzero(alike[at] >= SAME_FRAME).tolist():
            if _same_boxes(part[at], known[place]):
                pairs.append((at, place))
                break
    if len(pairs) >= FEWEST and len(pairs) >= MOST_FRAMES * len(part):
        one, other = part[pairs[0][0]], known[pairs[0][1]]
        said = f"{one.file} and {other.file} are nearly the same image with nearly the same boxes; so have "
        said += f"{len(pairs)} of {len(part)} images of {one.split} that were looked at their like in {other.split}"
        yield Problem("split-neighbours", path, said, len(pairs))


def _complete(images: Sequence[Any]) -> Any:
    """Grey, small, with a mean of 0 and a length of 1, so that a product is a correlation."""
    import numpy as np

    rows = []
    for pixels in images:
        height, width = pixels.shape[:2]
        patch = patch_of(pixels, (0, 0, width, height), GRID)
        rows.append(patch.mean(axis=2).ravel())
    return _centred(np.array(rows))


def _centred(rows: Any) -> Any:
    import numpy as np

    rows = rows - rows.mean(axis=-1, keepdims=True)
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-3)


def _same_boxes(one: CloseLook, other: CloseLook) -> bool:
    """At least two boxes, as many in both, each with its like at nearly its place."""
    import numpy as np

    if len(one.boxes) < 2 or sorted(one.names) != sorted(other.names):
        return False
    scale = np.array([one.sides[0] / other.sides[0], one.sides[1] / other.sides[1]] * 2)
    overlaps = _overlaps(one.boxes, other.boxes * scale)
    same = np.array(one.names, object)[:, None] == np.array(other.names, object)[None]
    best = np.where(same, overlaps, 0).max(axis=1)
    return bool(best.min() >= SAME_BOX and best.mean() >= SAME_BOXES)


def _overlaps(some: Any, others: Any) -> Any:
    """Intersection over union of each with each."""
    import numpy as np

    low = np.maximum(some[:, None, :2], others[None, :, :2])
    high = np.minimum(some[:, None, 2:], others[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=2)
    areas = [np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(axis=1) for boxes in (some, others)]
    return common / np.maximum(areas[0][:, None] + areas[1][None] - common, 1e-6)


# -- cuts ----------------------------------------------------------------------------------------


def cuts(part: Sequence[CloseLook], known: Sequence[CloseLook]) -> Iterator[tuple[CloseLook, CloseLook]]:
    """Pairs of which one is a part of the other, scaled: an object in both says how, and all the rest agrees."""
    import numpy as np

    here, there = _patches(part), _patches(known)
    if not len(here[0]) or not len(there[0]):
        return
    alike = here[0] @ there[0].T
    best = np.argsort(-alike, axis=1)[:, :CANDIDATES]
    found: set[int] = set()
    for row, columns in enumerate(best):
        at = here[1][row]
        for column in columns:
            if at in found or alike[row, column] < ALIKE_PATCH:
                break
            other = there[1][column]
            controls = [known[(other + step) % len(known)] for step in (1, 2, 4)]
            if _same_view(part[at], here[2][row], known[other], there[2][column], controls):
                found.add(at)
                yield part[at], known[other]


def _patches(looks: Sequence[CloseLook]) -> tuple[Any, list[int], list[Any]]:
    import numpy as np

    rows, images, boxes = [], [], []
    for at, look in enumerate(looks):
        for box in look.boxes:
            patch = patch_of(look.pixels, box, PATCH)
            if patch is not None:
                rows.append(patch.ravel())
                images.append(at)
                boxes.append(box)
    return _centred(np.array(rows, np.float32).reshape(-1, 3 * PATCH * PATCH)), images, boxes


def _same_view(one: CloseLook, box: Any, other: CloseLook, its: Any, controls: Sequence[CloseLook]) -> bool:
    import numpy as np

    across, down = (its[2:] - its[:2]) / (box[2:] - box[:2])
    if abs(np.log(across / down)) > 0.2 or abs(np.log(across * down) / 2) < LEAST_SCALE:
        return False
    scale = float(across * down) ** 0.5
    shift = (its[:2] + its[2:]) / 2 - scale * (box[:2] + box[2:]) / 2
    here, there = _common_points(one, other, scale, shift)
    if here is None:
        return False
    mine = _values(one, here)
    corners = float(_correlation(mine, _values(other, there)))
    if corners < SAME_VIEW:
        return False
    strangers = [
        _correlation(mine, _values(look, np.minimum(there, np.array(look.sides) - 1))) for look in controls
    ]
    return corners >= max(map(float, strangers)) + STRANGER


def _common_points(one: CloseLook, other: CloseLook, scale: float, shift: Any) -> tuple[Any, Any]:
    """A grid over the part of one image that is in the other too, in the pixels of both; None for too little."""
    import numpy as np

    steps = (np.arange(GRID) + 0.5) / GRID
    x, y = np.meshgrid(steps * one.sides[0], steps * one.sides[1])
    here = np.stack((x.ravel(), y.ravel()), axis=1)
    there = here * scale + shift
    inside = ((there >= 0) & (there < np.array(other.sides))).all(axis=1)
    return (here[inside], there[inside]) if inside.mean() >= 0.35 else (None, None)


def _values(look: CloseLook, points: Any) -> Any:
    """The mean of 3 by 3 pixels around each point, all channels."""
    import numpy as np

    width, height = look.sides
    total = 0
    for down in (-1, 0, 1):
        for across in (-1, 0, 1):
            x = np.clip(points[:, 0].astype(int) + across, 0, width - 1)
            y = np.clip(points[:, 1].astype(int) + down, 0, height - 1)
            total = total + look.pixels[y, x].astype(np.float32)
    return total


def _correlation(some: Any, others: Any) -> Any:
    return (_centred(some.ravel()) * _centred(others.ravel())).sum()
