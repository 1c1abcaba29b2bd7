"""What only all boxes together give away: every one a crowd, or the complete image, or each object twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.data.dataset_reader import Problem
from holdfast.data.records import Box, Record

FEWEST = 10  # boxes from which anything is said
TWIN_OVERLAP = 0.85  # of two boxes of one class: two hands that drew one object
TWINS = 0.2  # of the boxes, or more, have a twin
TWIN_IMAGES = 0.3  # of the images with boxes, or more, have one
MOST_COMPARED = 500  # boxes of an image
COMPLETE = 0.99  # of both sides


class BoxHabits:
    """Counts over a whole dataset."""

    def __init__(self) -> None:
        self.boxes = self.crowds = self.complete = self.twins = 0
        self.images = self.twin_images = 0
        self._first_complete = self._first_twin = ""
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
        twins = twin_count(record.boxes)
        self.twins += twins
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


def _is_complete(box: Box, size: tuple[int, int]) -> bool:
    width, height = size
    slack_x, slack_y = (1 - COMPLETE) * width, (1 - COMPLETE) * height
    across = box.x1 <= slack_x and box.x2 >= width - slack_x
    return bool(width and height) and across and box.y1 <= slack_y and box.y2 >= height - slack_y


def twin_count(boxes: Sequence[Box]) -> int:
    """Boxes that nearly cover an earlier one of the same class. Equal ones do not count: they are duplicate-box."""
    count = 0
    ordered = sorted(
        (box for box in boxes[:MOST_COMPARED] if box.width > 0 and box.height > 0), key=lambda box: box.x1
    )
    for at, box in enumerate(ordered):
        for later in ordered[at + 1 :]:
            if later.x1 > box.x1 + (1 - TWIN_OVERLAP) * box.width:
                break
            if (
                later.name == box.name
                and box.corners != later.corners
                and overlap(box, later) >= TWIN_OVERLAP
            ):
                count += 1
                break
    return count


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    across = min(one.x2, other.x2) - max(one.x1, other.x1)
    down = min(one.y2, other.y2) - max(one.y1, other.y1)
    if across <= 0 or down <= 0:
        return 0.0
    common = across * down
    return common / (one.width * one.height + other.width * other.height - common)
