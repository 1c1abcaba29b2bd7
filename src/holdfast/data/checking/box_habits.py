"""What only all boxes together give away: every one a crowd, or the complete image, or each object twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from holdfast.data.dataset_reader import Problem
from holdfast.data.records import Box, Record

FEWEST = 10  # boxes from which anything is said
TWIN_OVERLAP = 0.85  # of two boxes of one class: two hands that drew one object
TWINS = 0.2  # of the boxes, or more, have a twin
TWIN_IMAGES = 0.3  # of the images with boxes, or more, have one
NEAR = 3.0  # pixels between each two sides: of small objects two hands agree no better
LEAST_OVERLAP = 0.5  # of boxes that are so near
DOUBLED = 0.8  # of the boxes of an image, or more, are in groups of two, or all in groups of three
FEWEST_DOUBLED = 3  # images
MOST_COMPARED = 500  # boxes of an image
COMPLETE = 0.99  # of both sides


class BoxHabits:
    """Counts over a whole dataset."""

    def __init__(self) -> None:
        self.boxes = self.crowds = self.complete = self.twins = 0
        self.images = self.twin_images = 0
        self._doubled: list[int] = []  # of each image with every object twice or thrice, the surplus
        self._first_complete = self._first_twin = self._first_doubled = ""
        self._crowds: dict[str | None, list[int]] = {}  # of each split the crowds, and all boxes

    def add(self, record: Record, size: tuple[int, int], file: str) -> None:
        if not record.boxes:
            return
        self.images += 1
        self.boxes += len(record.boxes)
        crowds = sum(box.crowd for box in record.boxes)
        self.crowds += crowds
        known = self._crowds.setdefault(record.split, [0, 0])
        known[0] += crowds
        known[1] += len(record.boxes)
        complete = sum(_is_complete(box, size) for box in record.boxes)
        self.complete += complete
        groups = twin_groups(record.boxes)
        twins = sum(size - 1 for size in groups)
        self.twins += twins
        if is_doubled(groups, len(record.boxes)):
            self._doubled.append(twins)
            self._first_doubled = self._first_doubled or file
        self.twin_images += twins > 0
        self._first_complete = self._first_complete or (file if complete else "")
        self._first_twin = self._first_twin or (file if twins else "")

    def problems(self, path: str) -> Iterator[Problem]:
        if self.boxes and self.crowds == self.boxes:
            said = f"all {self.boxes} boxes are marked as crowds (iscrowd, group_of)"
            yield Problem("only-crowds", path, said, self.crowds)
        else:
            for split, (crowds, boxes) in self._crowds.items():
                if boxes >= FEWEST and crowds == boxes:
                    said = f"all {boxes} boxes of {split} are marked as crowds (iscrowd, group_of), "
                    said += f"and {self.crowds - crowds} of {self.boxes - boxes} others"
                    yield Problem("only-crowds", path, said, crowds)
        if self.boxes < FEWEST:
            return
        if 2 * self.complete > self.boxes:
            said = f"{self.complete} of {self.boxes} boxes are as large as their image, the first here"
            yield Problem("complete-image-box", self._first_complete, said, self.complete)
        elif self.twins >= TWINS * self.boxes and self.twin_images >= TWIN_IMAGES * self.images:
            said = f"{self.twins} of {self.boxes} boxes nearly repeat another of their class, the first here"
            yield Problem("near-duplicate-box", self._first_twin, said, self.twins)
        elif len(self._doubled) >= FEWEST_DOUBLED and sum(self._doubled) >= FEWEST:
            said = f"in {len(self._doubled)} images nearly every object has two boxes of its class or more, "
            said += f"{sum(self._doubled)} too many in all; the first here"
            yield Problem("near-duplicate-box", self._first_doubled, said, sum(self._doubled))


def _is_complete(box: Box, size: tuple[int, int]) -> bool:
    width, height = size
    slack_x, slack_y = (1 - COMPLETE) * width, (1 - COMPLETE) * height
    across = box.x1 <= slack_x and box.x2 >= width - slack_x
    return bool(width and height) and across and box.y1 <= slack_y and box.y2 >= height - slack_y


def twin_groups(boxes: Sequence[Box]) -> list[int]:
    """How many boxes of one class nearly agree, for each such group. Groups of equal ones are duplicate-box."""
    ordered = sorted(
        (box for box in boxes[:MOST_COMPARED] if box.width > 0 and box.height > 0), key=lambda box: box.x1
    )
    group = list(range(len(ordered)))
    differ: set[int] = set()
    for at, box in enumerate(ordered):
        for place in range(at + 1, len(ordered)):
            later = ordered[place]
            if later.x1 > box.x1 + max((1 - TWIN_OVERLAP) * box.width, NEAR):
                break
            if later.name == box.name and _are_twins(box, later):
                first, second = group[at], group[place]
                group = [first if one == second else one for one in group] if first != second else group
                differ |= {at, place} if box.corners != later.corners else set()
    found = Counter(group[at] for at in range(len(ordered)))
    unequal = {group[at] for at in differ}
    return [size for one, size in found.items() if size > 1 and one in unequal]


def _are_twins(box: Box, later: Box) -> bool:
    common = overlap(box, later)
    apart = max(abs(one - other) for one, other in zip(box.corners, later.corners, strict=True))
    return common >= TWIN_OVERLAP or (apart <= NEAR and common >= LEAST_OVERLAP)


def is_doubled(groups: Sequence[int], boxes: int) -> bool:
    """Two people drew each object, or three: a stack of things has groups of any size."""
    return any(
        groups.count(hands) >= 2 and hands * groups.count(hands) >= DOUBLED * boxes for hands in (2, 3)
    )


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    across = min(one.x2, other.x2) - max(one.x1, other.x1)
    down = min(one.y2, other.y2) - max(one.y1, other.y1)
    if across <= 0 or down <= 0:
        return 0.0
    common = across * down
    return common / (one.width * one.height + other.width * other.height - common)
