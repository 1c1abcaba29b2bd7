"""Everything that can be known to be wrong with a dataset before training on it."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.data import outside
from holdfast.data.checking.box_conventions import CONSEQUENCES, SIZED, BoxSample
from holdfast.data.checking.statistics import DatasetStatistics, file_of_record
from holdfast.data.dataset_reader import ParsedEntry, Problem, Source, SourceEntry
from holdfast.data.files import filesystem, process_pool, splits
from holdfast.data.files.file_index import FileIndex, stem_of
from holdfast.data.files.packed_list import PackedList
from holdfast.data.files.progress_bar import tracked
from holdfast.data.files.unseen_names import UnseenNames
from holdfast.data.findings import RANK, DataFinding, Tally
from holdfast.data.formats.label_map import shift_of_numbers
from holdfast.data.images.facts_cache import ImageFactsCache, cache_file, key_of
from holdfast.data.images.image_file import ImageFacts, probe_image
from holdfast.data.images.image_rules import (
    RuleViolation,
    box_violations,
    filled_violations,
    frame_size,
    image_violations,
    size_violations,
)
from holdfast.data.pixels import pixel_rules
from holdfast.data.pixels.look_sample import LookSample
from holdfast.data.reading import detect_format
from holdfast.data.reading.compare_sources import AnnotationComparison, compare
from holdfast.data.records import Record
from holdfast.data.workers import worker_choice
from holdfast.data.workers.shard_results import ShardResults

_CACHE_BATCH = 500


@dataclass(frozen=True, slots=True)
class Report:
    """What `holdfast check` found."""

    path: str
    images: int
    boxes: int
    classes: tuple[str, ...]
    findings: tuple[DataFinding, ...]

    @property
    def spoiled(self) -> bool:
        """Something would stop or spoil a run."""
        return any(finding.severity == "error" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "path": self.path,
            "images": self.images,
            "boxes": self.boxes,
            "classes": list(self.classes),
            "findings": [finding.as_json() for finding in self.findings],
        }


#: Of `check --json`. It grows when a key changes its meaning or goes; new keys do not change it (docs/api.md).
SCHEMA = "holdfast.check/1"


@dataclass(frozen=True, slots=True)
class DatasetPart:
    """One path to check; of a recipe, whether it is there for "train" or for "validation": then its records are of
    that split whatever the path says itself, and those that training leaves out for theirs do not count."""

    path: str
    split: str | None = None
    format: str | None = None


@dataclass(frozen=True, slots=True)
class GradedProblem:
    """A problem with the severity and the extra fields that belong to this one case of it."""

    problem: Problem
    severity: str = ""
    extra: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """What a worker found out about one entry."""

    parsed: ParsedEntry
    facts: ImageFacts | None = None
    key: tuple[str, str] | None = None  # to remember the facts by; None when they came from the cache
    judged: tuple[GradedProblem, ...] = ()


def check(
    parts: Sequence[DatasetPart],
    *,
    classes: Sequence[str] = (),
    use_cache: bool = True,
    processes: int | None = None,
) -> tuple[Report, DatasetStatistics]:
    """Check all parts as one dataset, so that an image in two of them is found."""
    tally, census, close = Tally(), DatasetStatistics(), LookSample()
    declared: dict[str, int] = {}
    for part in parts:
        found = detect_format.open_sources(part.path, part.format)
        main = found[0]
        declared.update(main.class_ids())
        others = [_compare_with(other, tally) for other in found[1:]]
        wanted = _splits_for_role(main, part.split)
        sample = BoxSample()
        strange: set[int] = set()
        for looked in check_entries(
            main, use_cache=use_cache, processes=processes, what=f"checking {part.path}"
        ):
            record = looked.parsed.record
            if wanted is None or record is None or record.split in wanted:
                _tally_entry(looked, part.split, classes, tally, census)
                if record is not None and looked.facts is not None:
                    sample.add(record, looked.facts, relative=main.relative, format=main.format)
                    known = record if part.split is None else replace(record, split=part.split)
                    close.add(known, looked.facts, file_of_record(record), relative=main.relative)
                strange.update(*(problem.numbers for problem in looked.parsed.problems))
            if record is not None:
                for other in others:
                    compare(record, other)
        for problem in main.problems():
            tally.add(problem)
        for problem in (problem for other in others for problem in other.problems()):
            tally.add(problem)
        _tally_conventions(sample, main, tally)
        _off_by_one(main, strange, tally, census)
    paths = [part.path for part in parts]
    path = ", ".join(paths)
    _tally_census(census, declared, path, tally)
    pixel_rules.add_findings(close, tally, path, processes)
    names = sorted(declared, key=lambda name: (declared[name], name))
    used = tuple(sorted(name for name in census.classes if name not in declared))
    findings = tuple(_with_path_in_remedy(finding, paths) for finding in tally.findings())
    return Report(path, census.images, census.boxes, (*names, *used), findings), census


def _tally_census(census: DatasetStatistics, declared: dict[str, int], path: str, tally: Tally) -> None:
    """What only all images together show, without what that accounts for."""
    for problem in census.problems(declared, path):
        tally.add(problem)
    if tally.has("shifted-annotations"):
        tally.drop(("size-mismatch", *CONSEQUENCES))
    for note in ("image-without-annotation", "image-without-boxes"):
        if tally.count(note) == tally.count("images-not-annotated"):
            tally.drop((note,))


def _splits_for_role(source: Source, role: str | None) -> frozenset[str | None] | None:
    """The splits of a source that training takes for this role; None for all of them."""
    if role is None:
        return None
    known = {entry.split for entry in source.entries()}
    return splits.training_splits(known) if role == "train" else splits.validation_splits(known)


def _with_path_in_remedy(finding: DataFinding, paths: list[str]) -> DataFinding:
    """The remedy with the path in it, so that it can be copied into a shell: of several, that of the first place."""
    first = finding.places[0].file if finding.places else ""
    path = next((one for one in paths if first.startswith(one)), paths[0])
    return replace(finding, remedy=finding.remedy.replace(" SRC ", f" {shlex.quote(path)} "))


def check_entries(
    source: Source, *, use_cache: bool = True, processes: int | None = None, what: str = "checking"
) -> Iterator[CheckedEntry]:
    """Every entry parsed and its image decoded, on all cores; then the images that no entry names."""
    # On a cluster the cache of this machine is not there; finished shards are kept instead.
    on_ray = worker_choice.current().on_ray
    file = cache_file(source.path) if use_cache and not on_ray else None
    results = ShardResults(f"check {named_source(source)}", _files_of) if on_ray and use_cache else None
    cache = ImageFactsCache(file, write=True) if file else None
    unnamed = UnseenNames(source.folder_images)
    listing = getattr(source, "listing", None)
    root = listing.root.rstrip("/") + "/" if isinstance(listing, FileIndex) else ""
    fresh: list[tuple[tuple[str, str], ImageFacts]] = []
    unread: set[str] = set()
    named_by_none: Sequence[str] = ()
    shared = source.for_workers(), file
    try:
        for negatives in (False, True):
            entries = source.negatives(named_by_none) if negatives else source.entries()
            found = process_pool.run(
                _check_entry, shared, entries, crashed=_crashed, workers=processes, results=results
            )
            for looked in tracked(found, what, len(unnamed) or None):
                if looked.parsed.record is not None:
                    unnamed.see(looked.parsed.record.image.path.removeprefix(root))
                else:
                    unread.update(stem_of(problem.file) for problem in looked.parsed.problems)
                if looked.key is not None and looked.facts is not None and looked.facts.digest:
                    # What could not be opened is not remembered: a right that was given changes no time.
                    fresh.append((looked.key, looked.facts))
                    if cache and len(fresh) >= _CACHE_BATCH:
                        cache.put(fresh)
                    fresh = fresh if len(fresh) < _CACHE_BATCH else []
                yield _noted_as_negative(looked) if negatives else looked
            # An image whose annotation cannot be read is not one without an annotation.
            named_by_none = PackedList(name for name in unnamed if stem_of(name) not in unread)
            if negatives:
                yield from _unannotated(source, named_by_none)
    finally:
        if cache:
            cache.put(fresh)
            cache.close()


def _files_of(looked: CheckedEntry) -> list[str]:
    """The files that an answer was made from."""
    record = looked.parsed.record
    if record is None:
        return [problem.file for problem in looked.parsed.problems]
    return [record.image.path, record.source]


def named_source(source: Source) -> str:
    """What the answers depend on besides the entry."""
    where = source.path if filesystem.is_url(source.path) else os.path.abspath(source.path)
    return f"{source.format} {where} {sorted(source.class_ids().items())} {filesystem.size_and_time(where)}"


def _noted_as_negative(looked: CheckedEntry) -> CheckedEntry:
    record, facts = looked.parsed.record, looked.facts
    if record is None or (facts is not None and facts.problem):
        return looked  # what cannot be decoded is no image with nothing in it
    detail = "no annotation file: taken as an image with nothing in it"
    problem = Problem("image-without-annotation", record.image.path, detail)
    return replace(looked, parsed=replace(looked.parsed, problems=(*looked.parsed.problems, problem)))


def _unannotated(source: Source, images: Iterable[str]) -> Iterator[CheckedEntry]:
    listing = getattr(source, "listing", None)
    for name in images:
        path = listing.path(name) if isinstance(listing, FileIndex) else name
        problem = Problem("image-without-annotation", path, "no annotation names it: it is not used")
        yield CheckedEntry(ParsedEntry(None, (problem,)))


_cache: tuple[Any, ImageFactsCache] | None = None


def _check_entry(shared: tuple[Source, Any], entry: SourceEntry) -> CheckedEntry:
    source, file = shared
    parsed = source.parse(entry)
    if parsed.record is None:
        return CheckedEntry(parsed)
    facts = _worker_cache(file).get(parsed.record.image) if file else None
    key = key_of(parsed.record.image) if file and facts is None else None
    facts = facts or probe_image(parsed.record.image)
    judged = tuple(
        record_problems(parsed.record, facts, relative=source.relative, sized=source.format in SIZED)
    )
    if not (parsed.record.boxes or parsed.lost or facts.problem):
        judged += (GradedProblem(Problem("image-without-boxes", file_of_record(parsed.record), "no boxes")),)
    elsewhere = outside.problem_of(parsed.record.image, outside.folder_of(source))
    if elsewhere is not None and facts.problem != "missing-image":
        judged += (GradedProblem(elsewhere),)
    if facts.problem == "missing-image" and source.format in ("voc", "labelme"):
        said = f"its image {parsed.record.file_name} is not there"
        judged += (GradedProblem(Problem("annotation-without-image", parsed.record.source, said)),)
    return CheckedEntry(parsed, facts, key, judged)


def _worker_cache(file: Any) -> ImageFactsCache:
    """One connection a process: SQLite's must not cross a fork."""
    global _cache
    if _cache is None or _cache[0] != file:
        _cache = (file, ImageFactsCache(file, write=False))
    return _cache[1]


def _crashed(entry: SourceEntry) -> CheckedEntry:
    problem = Problem("unreadable-image", entry.key, "decoding it ended the process that tried")
    return CheckedEntry(ParsedEntry(None, (problem,)))


def _tally_entry(
    looked: CheckedEntry, split: str | None, classes: Sequence[str], tally: Tally, census: DatasetStatistics
) -> None:
    unannotated = False
    for problem in looked.parsed.problems:
        negative = problem.finding == "image-without-annotation" and looked.parsed.record is not None
        unannotated |= negative
        tally.add(problem, severity="note" if negative else "")
    record, facts = looked.parsed.record, looked.facts
    if record is None or facts is None:
        return
    if split is not None:
        record = replace(record, split=split)
    census.add(record, facts, unannotated=unannotated)
    for judged in looked.judged:
        tally.add(judged.problem, severity=judged.severity, extra=judged.extra)
    _tally_classes(record, classes, tally)


def _tally_conventions(sample: BoxSample, source: Source, tally: Tally) -> None:
    problems, accounted = sample.problems(source.format, source.path, relative=source.relative)
    if (problems and accounted) or tally.has("image-id-off-by-one"):
        tally.drop(CONSEQUENCES)
    for problem in problems:
        tally.add(problem)


def record_problems(
    record: Record, facts: ImageFacts, *, relative: bool, sized: bool = True
) -> Iterator[GradedProblem]:
    image, annotation = file_of_record(record), record.source or file_of_record(record)
    own, named = record.image.path.rsplit("/", 1)[-1], record.file_name.rsplit("/", 1)[-1]
    if own != named and own.casefold() == named.casefold() and not facts.problem:
        yield GradedProblem(Problem("name-case", annotation, f"it says {named}, and the file is {own}"))
    for verdict in image_violations(record, facts):
        # Nine images of 16 bits among fifty grey ones are a finding of their own.
        serious = verdict.finding == "unsupported-mode" and verdict.severity == "warning"
        mode = (("mode", facts.mode),) if serious and facts.frames <= 1 else ()
        yield GradedProblem(Problem(verdict.finding, image, verdict.detail), verdict.severity, mode)
    for verdict in size_violations(record, facts, relative=relative):
        extra = (("boxes_fit", verdict.boxes_fit),) if verdict.boxes_fit else ()
        yield GradedProblem(Problem(verdict.finding, image, verdict.detail), verdict.severity, extra)
    for verdict in filled_violations(record, facts):
        yield GradedProblem(Problem(verdict.finding, image, verdict.detail))
    size = frame_size(record, facts, relative=relative)
    found = [one for _, one in box_violations(record.boxes, size, sized=sized)]
    for verdict in _in_one_unit(found, record, size):
        detail = verdict.detail if record.image.in_shard else f"{record.file_name}: {verdict.detail}"
        yield GradedProblem(Problem(verdict.finding, annotation, detail), verdict.severity)


def _in_one_unit(
    verdicts: list[RuleViolation], record: Record, size: tuple[int, int] | None
) -> list[RuleViolation]:
    """Where some boxes of an image are pixels taken for fractions, so are the others that leave it."""
    if size is None or not any(one.finding == "pixels-as-fractions" for one in verdicts):
        return verdicts
    across, down = (max(box.x2 for box in record.boxes), max(box.y2 for box in record.boxes))
    if across > 1.01 * size[0] ** 2 or down > 1.01 * size[1] ** 2:
        return verdicts
    return [
        replace(one, finding="pixels-as-fractions") if one.finding == "outside-box" else one
        for one in verdicts
        if one.finding != "wrapped-box"
    ]


def _tally_classes(record: Record, classes: Sequence[str], tally: Tally) -> None:
    if classes:
        for name in sorted({box.name for box in record.boxes} - set(classes)):
            detail = f"{record.file_name}: {name!r} is not among the recipe's classes"
            tally.add(Problem("unknown-class", record.source or record.image.path, detail))


def _compare_with(other: Source, tally: Tally) -> AnnotationComparison:
    with contextlib.suppress(Exception):
        for problem in other.problems():
            tally.add(problem)
    return AnnotationComparison.of(other)


def _off_by_one(source: Source, strange: Collection[int], tally: Tally, census: DatasetStatistics) -> None:
    """Numbers past one end of the names, and no box of the class at the other end: somebody counted otherwise."""
    ids = source.class_ids()
    used = {ids[name] for name, count in census.classes.items() if count and name in ids}
    step = shift_of_numbers(ids.values(), used | set(strange))
    if step:
        edge = min(ids.values()) if step > 0 else max(ids.values())
        unused = next(name for name in ids if ids[name] == edge)
        said = f"no box has class {edge} ({unused!r}), and some have class {next(iter(strange))}, which has no name"
        tally.add(Problem("class-id-off-by-one", source.path, said))


def with_problem(report: Report, problem: Problem) -> Report:
    """The report with one thing more that was found, of the recipe rather than of the data."""
    tally = Tally()
    tally.add(problem)
    return with_findings(report, tally.findings())


def with_findings(report: Report, findings: Iterable[DataFinding]) -> Report:
    merged = sorted((*report.findings, *findings), key=lambda finding: RANK[finding.severity])
    return replace(report, findings=tuple(merged))
