"""Two sets of annotations for the same images, box by box."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from holdfast.data.dataset_reader import Problem, Source
from holdfast.data.files import filesystem
from holdfast.data.files.file_index import stem_of
from holdfast.data.reading.load import parse_all
from holdfast.data.records import Record

SAME_PX = 1.5  # one program counts pixels from 0 and the next from 1

Boxes = list[tuple[str, float, float, float, float]]


@dataclass(slots=True)
class AnnotationComparison:
    """The second set, by image, and where it differed from the first."""

    path: str
    format: str
    boxes: dict[str, Boxes]
    differing: list[tuple[str, str]] = field(default_factory=list)
    count: int = 0
    same: int = 0
    seen: set[str] = field(default_factory=set)  # images that the first set has
    images: dict[str, str] = field(default_factory=dict)  # by the same keys, of those with boxes

    @classmethod
    def of(cls, source: Source) -> AnnotationComparison:
        boxes: dict[str, Boxes] = {}
        images: dict[str, str] = {}
        for parsed in parse_all(source):
            if parsed.record is not None and parsed.record.source:
                boxes.setdefault(_key(parsed.record), []).extend(_boxes(parsed.record))
                if parsed.record.boxes and not parsed.record.image.in_shard:
                    images[_key(parsed.record)] = parsed.record.image.path
        return cls(source.path, source.format, boxes, images=images)

    def problems(self) -> Iterator[Problem]:
        # Sets that agree nowhere are of other images with the same names, or of another task.
        for position, (file, detail) in enumerate(self.differing):
            rest = self.count - len(self.differing) if position == len(self.differing) - 1 else 0
            yield Problem("annotation-sources-disagree", file, detail, 1 + rest)
        unused = [
            path for key, path in self.images.items() if key not in self.seen and filesystem.exists(path)
        ]
        if unused:
            many = f"{len(unused)} images are" if len(unused) > 1 else "1 image is"
            first = unused[0].rsplit("/", 1)[-1]
            said = f"{many} annotated only by the {self.format} here, and {'are' if len(unused) > 1 else 'is'} not used"
            yield Problem("annotation-sources-disagree", self.path, f"{said}: such as {first}", len(unused))


def compare(record: Record, other: AnnotationComparison) -> None:
    """Note where the other set has other boxes for this image. An image that it does not have is fine."""
    other.seen.add(_key(record))
    theirs = other.boxes.get(_key(record))
    if theirs is None:
        return
    only_ours, only_theirs = unmatched(_boxes(record), theirs)
    if not only_ours and not only_theirs:
        other.same += 1
        return
    other.count += 1
    if len(other.differing) < 20:
        file = record.source or record.image.path
        detail = (
            f"{record.file_name}: {len(only_ours)} boxes only here, {len(only_theirs)} only in the {other.format} "
            f"at {other.path}" + (f"; first {_shown((only_ours or only_theirs)[0])}")
        )
        other.differing.append((file, detail))


def unmatched(ours: Boxes, theirs: Boxes) -> tuple[Boxes, Boxes]:
    """What is left on either side when boxes of one class within a pixel and a half are paired."""
    left = list(theirs)
    only_ours: Boxes = []
    for box in ours:
        for position, other in enumerate(left):
            if box[0] == other[0] and all(
                abs(a - b) <= SAME_PX for a, b in zip(box[1:], other[1:], strict=True)
            ):
                del left[position]
                break
        else:
            only_ours.append(box)
    return only_ours, left


def _key(record: Record) -> str:
    return stem_of(record.file_name).lower()


def _boxes(record: Record) -> Boxes:
    return [(box.name, box.x1, box.y1, box.x2, box.y2) for box in record.boxes]


def _shown(box: tuple[str, float, float, float, float]) -> str:
    return f"{box[0]!r} {','.join(f'{corner:g}' for corner in box[1:])}"
