"""A cleaned copy of a dataset, and a list of everything that was changed or left out, with the reason."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.data.checking.box_conventions import BoxSample
from holdfast.data.checking.dataset_check import CheckedEntry, check_entries
from holdfast.data.checking.statistics import file_of_record, near_duplicates
from holdfast.data.dataset_reader import ParsedEntry, Problem, Source
from holdfast.data.files.file_index import FileIndex, stem_of, suffix_of
from holdfast.data.files.name_index import digest_of, repeated_digests
from holdfast.data.files.packed_list import PackedList, PackedWriter
from holdfast.data.finding_kinds import KINDS
from holdfast.data.findings import SEVERITIES, DataFinding, Tally
from holdfast.data.formats import WRITABLE_FORMATS
from holdfast.data.images.exif import turned_upright
from holdfast.data.images.image_file import ImageFacts
from holdfast.data.images.image_rules import (
    box_text,
    box_violation,
    boxes_fit,
    frame_of,
    frame_size,
    is_wrapped,
    right_suffix,
    wrong_suffix,
)
from holdfast.data.reading import detect_format
from holdfast.data.reading.load import as_dataset
from holdfast.data.records import Box, Dataset, Record
from holdfast.data.writing.convert import (
    ConvertOptions,
    refuse_format,
    refuse_nesting,
    write,
)
from holdfast.data.writing.redraw import DRAWN_FORMATS, Redraws
from holdfast.errors import DataError
from holdfast.units import count

CHANGES = "changes.csv"
#: Findings that are no errors, and take something away all the same.
LOSSY_FINDINGS = frozenset(("image-without-annotation", "shape-without-box", "score-column"))
_WHAT = {
    "image-without-annotation": "image",
    "unreadable-image": "image",
    "score-column": "score",
    "shape-without-box": "point",
}
#: A box left out for one of these was around something; a click without a drag, or a box beside the image, was not.
NEVER_EMPTY = frozenset(("not-finite-box", "wrapped-box", "pixels-as-fractions", "corners-as-size"))


Usable = tuple[Record, ImageFacts]


@dataclass(frozen=True, slots=True)
class RepairChange:
    file: str
    done: str  # "changed" or "left out"
    what: str
    reason: str  # the finding's slug
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RepairResult:
    dataset: Dataset
    changes: Sequence[RepairChange]
    findings: tuple[DataFinding, ...] = ()  # notes on what was kept


def repair(
    source: str,
    destination: str,
    *,
    to: str | None = None,
    format: str | None = None,
    overwrite: bool = False,
) -> RepairResult:
    """Write a cleaned copy. The source is only read."""
    refuse_nesting(source, destination)
    main = detect_format.open_sources(source, format)[0]
    target = to or (main.format if main.format in WRITABLE_FORMATS else "coco")
    refuse_format(target)
    changes = PackedWriter[RepairChange]()
    kept = PackedWriter[Usable]()
    for problem in main.problems():
        if _is_lossy(problem):
            what = _WHAT.get(problem.finding, "annotation")
            changes.add(RepairChange(problem.file, "left out", what, problem.finding, problem.detail))
    unread: set[str] = set()
    tally, sample = Tally(), BoxSample()
    for looked in check_entries(main, what=f"reading {source}"):
        changes.extend(_left_out(looked))
        for judged in looked.judged:
            if judged.problem.finding == "outside-dataset":
                tally.add(judged.problem)
        if looked.parsed.record is None:
            problems = looked.parsed.problems
            unread |= {stem_of(one.file) for one in problems if one.finding == "unreadable-annotation"}
        elif looked.facts is not None:
            sample.add(looked.parsed.record, looked.facts, relative=main.relative)
            done: list[RepairChange] = []
            record = repaired_record(looked.parsed, looked.facts, relative=main.relative, changes=done)
            changes.extend(done)
            if record is not None:
                kept.add((record, looked.facts))
    _refuse_misread_boxes(main, sample)
    usable = kept.finished()
    changes.extend(_images_of(main, unread, usable))
    usable = PackedList(_without_repeats(usable, changes))
    usable = PackedList(_one_name_a_class(usable, changes))
    with Redraws(destination) as redraws:
        redrawn = PackedList(_redrawn(redraws, usable, changes))
        dataset = _without_unused(as_dataset(main, redrawn), redrawn)
        all_changes = changes.finished()
        write(
            dataset, destination, target, ConvertOptions(overwrite), {CHANGES: changes_csv(all_changes)},
            drawn_from=PackedList(record for record, _ in usable),
            formats=PackedList(_format_of(one, before) for one, before in zip(redrawn, usable, strict=True)),
        )  # fmt: skip
    return RepairResult(dataset, all_changes, tally.findings())


def _refuse_misread_boxes(source: Source, sample: BoxSample) -> None:
    """Boxes that all mean something else are not repaired by cutting those that leave their images."""
    found = [problem for problem in source.problems() if problem.finding == "image-id-off-by-one"]
    found += sample.problems(source.format, source.path, relative=source.relative)[0]
    if found:
        kind = KINDS[found[0].finding]
        raise DataError(
            f"a copy would have wrong boxes: {kind.title}",
            where=found[0].file, found=[problem.detail for problem in found], change=kind.remedy,
        )  # fmt: skip


def _is_lossy(problem: Problem) -> bool:
    """Something of the source is not in the copy; other problems are worth knowing, and nothing is lost by them."""
    return SEVERITIES[problem.finding] == "error" or problem.finding in LOSSY_FINDINGS


def _images_of(source: Source, unread: set[str], kept: Sequence[Usable]) -> Iterator[RepairChange]:
    """The images of annotations that cannot be read: nobody knows that they are empty."""
    listing = getattr(source, "listing", None)
    if not unread or not isinstance(listing, FileIndex):
        return
    paths = {record.image.path for record, _ in kept if stem_of(record.image.path) in unread}
    for name in source.folder_images:
        path = listing.path(name)
        if stem_of(name) in unread and path not in paths:
            yield RepairChange(
                path, "left out", "image", "unreadable-annotation", "its annotation cannot be read"
            )


def _left_out(looked: CheckedEntry) -> Iterator[RepairChange]:
    for problem in looked.parsed.problems:
        if problem.finding == "image-without-annotation" and looked.parsed.record is not None:
            continue  # kept, as the negative that it is
        if not _is_lossy(problem):
            continue
        what = _WHAT.get(problem.finding, "annotation")
        yield RepairChange(problem.file, "left out", what, problem.finding, problem.detail)


def repaired_record(
    parsed: ParsedEntry, facts: ImageFacts, *, relative: bool, changes: list[RepairChange]
) -> Record | None:
    """The record with what can be put right put right; None when its image cannot be used."""
    record = parsed.record
    if record is None:
        return None
    place, annotation = file_of_record(record), record.source or file_of_record(record)
    if facts.problem:
        what = f"image and {count(len(record.boxes), 'box', 'boxes')}"
        changes.append(RepairChange(place, "left out", what, facts.problem, facts.detail))
        return None
    if wrong_suffix(facts.format, suffix_of(record.file_name)):
        said = f"{record.file_name} is now {right_suffix(facts.format)}"
        changes.append(RepairChange(place, "changed", "name", "wrong-extension", said))
    size = frame_size(record, facts, relative=relative) or facts.upright_size
    before = len(changes)
    boxes = _usable_boxes(record, size, annotation, changes)
    if not boxes and (parsed.lost or any(change.reason in NEVER_EMPTY for change in changes[before:])):
        said = "none of its annotations can be used, and so it is not known that nothing is in it"
        changes.append(RepairChange(place, "left out", "image", "unreadable-annotation", said))
        return None
    declared = record.image.declared_size
    if declared is not None and declared not in (facts.size, facts.upright_size):
        fit = boxes_fit(record.boxes, declared, facts.upright_size, relative=relative)
        scale = fit == "declared" and bool(boxes)
        boxes = _scaled(boxes, declared, facts.upright_size) if scale else boxes
        said = f"declared {declared[0]}x{declared[1]}, really {facts.upright_size[0]}x{facts.upright_size[1]}"
        what = "declared size, and the boxes scaled to it" if scale else "declared size"
        changes.append(RepairChange(annotation, "changed", what, "size-mismatch", said))
    elif facts.orientation != 1 and frame_of(record, facts)[1].name == "stored":
        boxes = [turned_upright(box, facts.size, facts.orientation) for box in boxes]
    width, height = facts.upright_size
    image = replace(record.image, width=width, height=height)
    return replace(record, boxes=tuple(boxes), image=image, frame="upright")


def _usable_boxes(
    record: Record, size: tuple[int, int], annotation: str, changes: list[RepairChange]
) -> list[Box]:
    boxes: list[Box] = []
    for box in record.boxes:
        mended_box, done, reason = repaired_box(box, size)
        if reason:
            after = "" if mended_box is None else f" to {box_text(mended_box)}"
            detail = f"{record.file_name}: {box_text(box)}{after} {box.name!r}"
            changes.append(RepairChange(annotation, done, "box", reason, detail))
        if mended_box is not None:
            boxes.append(mended_box)
    unique = list(
        {(box.name, *(round(corner, 2) for corner in box.corners)): box for box in reversed(boxes)}.values()
    )
    for _ in range(len(boxes) - len(unique)):
        changes.append(RepairChange(annotation, "left out", "box", "duplicate-box", record.file_name))
    return unique[::-1]


def repaired_box(box: Box, size: tuple[int, int]) -> tuple[Box | None, str, str]:
    """The box to keep or None, what was done, and the finding that was the reason; no reason, no change."""
    verdict = box_violation(box, size)
    if verdict is None or verdict.finding == "tiny-box":
        return box, "", ""
    if any(is_wrapped(corner, size) for corner in box.corners):
        return None, "left out", "wrapped-box"
    if verdict.finding == "inverted-box":
        ordered = replace(
            box,
            x1=min(box.x1, box.x2),
            y1=min(box.y1, box.y2),
            x2=max(box.x1, box.x2),
            y2=max(box.y1, box.y2),
        )
        again, _, reason = repaired_box(ordered, size)
        return again, "left out" if again is None else "changed", verdict.finding if again else reason
    if verdict.finding in ("outside-box", "edge-rounding"):
        clipped = replace(
            box, x1=max(box.x1, 0.0), y1=max(box.y1, 0.0), x2=min(box.x2, size[0]), y2=min(box.y2, size[1])
        )
        inside = clipped.width > 0 and clipped.height > 0
        return (clipped, "changed", verdict.finding) if inside else (None, "left out", verdict.finding)
    return None, "left out", verdict.finding


def _scaled(boxes: list[Box], declared: tuple[int, int], real: tuple[int, int]) -> list[Box]:
    wide, high = real[0] / declared[0], real[1] / declared[1]
    return [
        replace(box, x1=box.x1 * wide, y1=box.y1 * high, x2=box.x2 * wide, y2=box.y2 * high, area=None)
        for box in boxes
    ]


def _without_repeats(kept: Sequence[Usable], changes: PackedWriter[RepairChange]) -> Iterator[Usable]:
    """Repeats with the same boxes are left out; from two splits, the one in training goes."""
    repeated = repeated_digests(digest_of(facts.digest) for _, facts in kept)
    by_digest: dict[str, list[int]] = {}
    for position, (_, facts) in enumerate(kept):
        if digest_of(facts.digest) in repeated:
            by_digest.setdefault(facts.digest, []).append(position)
    gone: dict[int, tuple[str, int]] = {}
    for positions in by_digest.values():
        if len(positions) > 1:
            gone.update(_surplus(positions, [kept[position][0] for position in positions]))
    for position, (record, facts) in enumerate(kept):
        if position in gone:
            reason, other = gone[position]
            detail = f"the same image as {file_of_record(kept[other][0])}"
            changes.add(RepairChange(file_of_record(record), "left out", "image", reason, detail))
        else:
            yield record, facts


def _surplus(positions: list[int], records: list[Record]) -> dict[int, tuple[str, int]]:
    splits = {record.split for record in records}
    keep = 0
    if len(splits) > 1:
        keep = next(
            (n for n, record in enumerate(records) if not (record.split or "").startswith("train")), 0
        )
    gone: dict[int, tuple[str, int]] = {}
    for number, record in enumerate(records):
        if number == keep:
            continue
        if record.split != records[keep].split:
            gone[positions[number]] = ("split-leak", positions[keep])
        elif _boxes_key(record) == _boxes_key(records[keep]):
            gone[positions[number]] = ("duplicate-image", positions[keep])
    return gone  # the same image with other boxes in one split is for a person to judge


def _boxes_key(record: Record) -> list[tuple[str, ...]]:
    return sorted((box.name, *(f"{corner:.1f}" for corner in box.corners)) for box in record.boxes)


def _one_name_a_class(records: Sequence[Usable], changes: PackedWriter[RepairChange]) -> Iterator[Usable]:
    counts = Counter(box.name for record, _ in records for box in record.boxes)
    renamed: dict[str, str] = {}
    for group in near_duplicates(set(counts)):
        best = max(group, key=lambda name: (counts[name], name == name.strip(), name))
        for name in group:
            if name != best:
                renamed[name] = best
                detail = f"{counts[name]} boxes of {name!r} are now {best!r}"
                changes.add(RepairChange("", "changed", "class name", "near-duplicate-class-names", detail))
    for record, facts in records:
        boxes = tuple(replace(box, name=renamed.get(box.name, box.name)) for box in record.boxes)
        yield replace(record, boxes=boxes), facts


def _without_unused(dataset: Dataset, records: Sequence[Record]) -> Dataset:
    """Spellings that were merged away are not classes any more; other declared classes stay."""
    used = {box.name for record in records for box in record.boxes}
    surplus = {name for group in near_duplicates(set(dataset.classes)) for name in group if name not in used}
    pairs = [pair for pair in zip(dataset.classes, dataset.class_ids, strict=True) if pair[0] not in surplus]
    return replace(
        dataset, classes=tuple(name for name, _ in pairs), class_ids=tuple(number for _, number in pairs)
    )


def _redrawn(
    redraws: Redraws, records: Sequence[Usable], changes: PackedWriter[RepairChange]
) -> Iterator[Record]:
    for (record, _), (drawn, reasons) in zip(records, redraws.draw(records), strict=True):
        for reason, detail in reasons:
            changes.add(RepairChange(file_of_record(record), "changed", "image", reason, detail))
        yield drawn


def _format_of(drawn: Record, before: Usable) -> str:
    """Known without reading the image again."""
    record, facts = before
    return facts.format if drawn.image == record.image else DRAWN_FORMATS[suffix_of(drawn.image.path)]


def changes_csv(changes: Iterable[RepairChange]) -> Iterator[bytes]:
    """The list as CSV: one line a change."""
    yield _csv_line(("source", "done", "what", "reason", "detail"))
    for change in changes:
        cells = (change.file, change.done, change.what, change.reason, change.detail)
        yield _csv_line([_no_formula(cell) for cell in cells])


def _csv_line(cells: Iterable[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue().encode("utf-8", "replace")


def _no_formula(cell: str) -> str:
    """A spreadsheet computes a cell that begins like this; names of files and classes are a stranger's."""
    return f"'{cell}" if cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r")) else cell
