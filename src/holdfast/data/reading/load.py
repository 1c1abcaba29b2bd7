"""A path to a whole dataset in memory: what training, conversion and evaluation read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from holdfast.data import outside
from holdfast.data.dataset_reader import ParsedEntry, Problem, Source, SourceEntry
from holdfast.data.files import process_pool
from holdfast.data.files.file_index import FileIndex
from holdfast.data.files.name_index import digest_of, repeated_digests
from holdfast.data.files.packed_list import PackedList, PackedWriter
from holdfast.data.files.unseen_names import UnseenNames
from holdfast.data.reading import detect_format
from holdfast.data.records import Dataset, Record, names_in
from holdfast.errors import DataError

#: Findings that are no errors, of what a dataset has and a record has no place for.
LEFT_OUT = frozenset(("shape-without-box", "score-column", "several-annotators", "task-without-annotation"))
FEW = 500  # below this many entries a pool of processes costs more than it saves


def read(path: str, format: str | None = None, *, strict: bool = True, on_disk: bool = False) -> Dataset:
    """The dataset at a path, its format found by itself unless given.

    With `strict` anything that cannot be read is an error that names the file; without it, such parts are
    left out, which `holdfast check` would have said. Records are in memory unless they are wanted `on_disk`.
    """
    dataset = read_and_left_out(path, format, strict=strict)[0]
    return dataset if on_disk else replace(dataset, records=tuple(dataset.records))


def read_and_left_out(
    path: str, format: str | None = None, *, strict: bool = True
) -> tuple[Dataset, list[Problem]]:
    """The same with its records on disk, and what it has besides: for a command that writes the dataset again."""
    source = detect_format.open_sources(str(path), format)[0]
    records = PackedWriter[Record]()
    problems = list(source.problems())
    for parsed in parse_all(source):
        problems.extend(parsed.problems)
        if parsed.record is not None and not parsed.empty_by_loss:
            records.add(parsed.record)
    if strict:
        refuse_losses(source, problems)
    left_out = [problem for problem in problems if problem.finding in LEFT_OUT]
    return as_dataset(source, records.finished()), left_out


def as_dataset(source: Source, records: Sequence[Record]) -> Dataset:
    kept = unique_ids(records)
    ids = source.class_ids()
    used = names_in(kept)
    declared = sorted(ids, key=lambda name: (ids[name], name))
    classes = (*declared, *(name for name in used if name not in ids))
    class_ids = tuple(ids.get(name) for name in classes)
    return Dataset(source.path, source.format, kept, classes, class_ids, outside.folder_of(source))


def refuse_losses(source: Source, problems: list[Problem]) -> None:
    """Stops at what would silently train on less than the user has."""
    from holdfast.data.findings import SEVERITIES

    bad = [problem for problem in problems if SEVERITIES[problem.finding] == "error"]
    if bad:
        first, count = bad[0], sum(problem.count for problem in bad)
        raise DataError(
            f"{count} annotation{'s' if count > 1 else ''} cannot be used",
            where=first.file,
            found=[f"{first.finding}: {first.detail}", *(["the first of them is shown"] if count > 1 else [])],
            change=[f"holdfast check {source.path}   lists them all",
                    f"holdfast data repair {source.path} NEW   writes a copy without them"],
        )  # fmt: skip


def parse_all(source: Source) -> Iterator[ParsedEntry]:
    """Every entry of the source, parsed, and then the images that stand for "nothing in it"."""
    unnamed = UnseenNames(source.folder_images)
    root = _root(source)
    for parsed in _parsed(source, source.entries()):
        if parsed.record is not None and root:
            unnamed.see(parsed.record.image.path.removeprefix(root))
        yield parsed
    yield from _parsed(source, source.negatives(PackedList(unnamed)))


def _root(source: Source) -> str:
    listing = getattr(source, "listing", None)
    return listing.root.rstrip("/") + "/" if isinstance(listing, FileIndex) else ""


def _parsed(source: Source, entries: Iterator[SourceEntry]) -> Iterator[ParsedEntry]:
    first = [entry for _, entry in zip(range(FEW), entries, strict=False)]
    if len(first) < FEW:
        yield from (source.parse(entry) for entry in first)
        return
    yield from (source.parse(entry) for entry in first)
    yield from process_pool.run(_parse, source.for_workers(), entries, crashed=_crashed, chunk=200)


def _parse(source: Source, entry: SourceEntry) -> ParsedEntry:
    return source.parse(entry)


def _crashed(entry: SourceEntry) -> ParsedEntry:
    return ParsedEntry(None, (Problem("unreadable-annotation", entry.key, "reading it ended the process"),))


def unique_ids(records: Sequence[Record]) -> Sequence[Record]:
    """Records with ids that are unique within their split: some writers give every record the id 0."""
    repeated = repeated_digests(digest_of(f"{record.split} {record.id}") for record in records)
    return PackedList(_numbered(records, repeated)) if repeated else records


def _numbered(records: Iterable[Record], repeated: set[int]) -> Iterator[Record]:
    seen: dict[tuple[str | None, str], int] = {}
    for record in records:
        times = 1
        if digest_of(f"{record.split} {record.id}") in repeated:
            key = record.split, record.id
            times = seen[key] = seen.get(key, 0) + 1
        yield record if times == 1 else replace(record, id=f"{record.id}#{times}")
