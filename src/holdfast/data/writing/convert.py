"""From any format that is read to any that is written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.data import outside
from holdfast.data.files import filesystem, process_pool
from holdfast.data.files.progress_bar import tracked
from holdfast.data.findings import DataFinding, Tally
from holdfast.data.formats import WRITABLE_FORMATS
from holdfast.data.reading.load import read_and_left_out
from holdfast.data.records import Dataset, Record
from holdfast.data.workers import worker_choice
from holdfast.data.writing.atomic_output import Staging
from holdfast.data.writing.named_records import NamedRecords
from holdfast.data.writing.output_names import image_names
from holdfast.data.writing.tfrecord_writer import write_tfrecord
from holdfast.data.writing.writers import write_coco, write_voc, write_yolo, yolo_image_path
from holdfast.errors import DataError, HoldfastError, UsageError, nearest


@dataclass(frozen=True, slots=True)
class Converted:
    """What was written, and what is to be known about it: what was left out."""

    dataset: Dataset
    findings: tuple[DataFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """How to write; nothing is replaced unless `overwrite`."""

    overwrite: bool = False
    annotations_only: bool = False
    shards: int | None = None
    processes: int | None = field(default=None, repr=False)  # changes nothing of what is written


def convert(
    source: str,
    destination: str,
    to: str,
    *,
    format: str | None = None,
    options: ConvertOptions | None = None,
) -> Converted:
    """Read `source`, write `destination`."""
    options = options or ConvertOptions()
    refuse_format(to)
    refuse_nesting(source, destination)
    dataset, left_out = read_and_left_out(source, format)
    tally = Tally()
    for problem in (*left_out, *outside.outside(dataset)):
        tally.add(problem)
    if not options.annotations_only:
        records, others = outside.without_other_files(dataset.records)
        for problem in others:
            tally.add(problem)
        if others and not records:
            raise DataError(
                "none of the files that the dataset names is an image",
                where=others[0].file,
                found=others[0].detail,
            )
        dataset = replace(dataset, records=records)
    write(dataset, destination, to, options)
    return Converted(dataset, tally.findings())


def refuse_format(to: str) -> None:
    if to not in WRITABLE_FORMATS:
        close = nearest(to, WRITABLE_FORMATS)
        raise UsageError(
            f"{to!r} is not a format that is written",
            found=f"the nearest is {close!r}" if close else "",
            change=f"--to {close or ', '.join(WRITABLE_FORMATS)}",
        )


def refuse_nesting(source: str, destination: str) -> None:
    """Neither inside the other: the source would change, or be replaced together with the destination."""
    if filesystem.is_url(source) or filesystem.is_url(destination):
        return
    one, other = (os.path.realpath(path).rstrip("/") + "/" for path in (source, destination))
    if one.startswith(other) or other.startswith(one):
        raise UsageError(
            "source and destination are inside one another, and the source is never touched",
            where=destination,
            found=f"the source is {source}",
            change="give a folder beside the source",
        )


def write(
    dataset: Dataset,
    destination: str,
    to: str,
    options: ConvertOptions,
    extra: Mapping[str, Iterable[bytes]] | None = None,
    *,
    drawn_from: Sequence[Record] = (),
    formats: Sequence[str] = (),
) -> None:
    """Write a dataset in one of the four formats; `extra` files go beside it.

    `drawn_from` are the records before their images were redrawn into a folder that has another name each time;
    `formats` are those of the images, where extensions are to be put right.
    """
    if not dataset.records:
        raise DataError("there is nothing to write: the dataset has no usable image", where=dataset.path)
    if not options.annotations_only:
        _refuse_missing(dataset.records)
    elif to == "tfrecord":
        raise UsageError(
            "a TFRecord holds the images", change="leave --annotations-only out, or write another format"
        )
    names = image_names(dataset.records, formats=formats)
    named = NamedRecords(dataset.records, names)
    staging = Staging(destination, _plan(dataset, drawn_from, to, options), overwrite=options.overwrite)
    if to != "tfrecord" and not options.annotations_only:
        _copy_images(named, to, staging)
    _annotations(dataset, named, to, staging, options)
    for name, parts in (extra or {}).items():
        staging.write_parts(name, parts)
    staging.commit()


def _annotations(
    dataset: Dataset, named: NamedRecords, to: str, staging: Staging, options: ConvertOptions
) -> None:
    match to:
        case "coco":
            write_coco(dataset, named, staging)
        case "voc":
            write_voc(dataset, named, staging)
        case "yolo":
            write_yolo(dataset, named, staging)
        case _:
            write_tfrecord(dataset, named, staging, options.shards, options.processes)


def _image_path(to: str, record: Record, name: str) -> str:
    if to == "yolo":
        return yolo_image_path(record, name)
    return f"{'images' if to == 'coco' else 'JPEGImages'}/{name}"


def _copy_images(named: NamedRecords, to: str, staging: Staging) -> None:
    jobs = ((record, _image_path(to, record, name)) for record, name in named)
    if not worker_choice.current().on_ray:
        for record, name in tracked(jobs, "copying images", len(named)):
            _copy(record, name, staging)
        return
    worker_choice.require_visible(staging.folder)
    done = process_pool.run(_copy_or_error, staging, jobs, crashed=_copy_crashed)
    for error in tracked(done, "copying images", len(named)):
        if error is not None:
            raise error


def _copy_or_error(staging: Staging, job: tuple[Record, str]) -> HoldfastError | OSError | None:
    """In a worker: what went wrong comes back to be raised where it is printed."""
    try:
        _copy(*job, staging)
    except (HoldfastError, OSError) as error:
        return error
    return None


def _copy_crashed(job: tuple[Record, str]) -> HoldfastError:
    return DataError("the process that copied an image ended without a word", where=job[0].image.path)


def _copy(record: Record, name: str, staging: Staging) -> None:
    if not staging.has(name):
        staging.write(name, record.image.read())


def _refuse_missing(records: Sequence[Record]) -> None:
    paths = (record.image.path for record in records)
    missing = (path for path in paths if not filesystem.is_url(path) and not os.path.isfile(path))
    first = next(missing, None)
    if first is not None:
        raise DataError(
            f"{1 + sum(1 for _ in missing)} of {len(records)} images are not there",
            where=first,
            change=["--annotations-only   writes the annotations without images",
                    "`holdfast data repair SRC DST`   leaves the records without images out"],
        )  # fmt: skip


def _plan(
    dataset: Dataset, drawn_from: Sequence[Record], to: str, options: ConvertOptions
) -> dict[str, object]:
    """What makes two starts the same write."""
    digest = hashlib.blake2b(digest_size=16)
    for record in drawn_from or dataset.records:
        digest.update(repr(record).encode("utf-8", "replace"))
    return {
        "to": to,
        "records": digest.hexdigest(),
        "classes": list(dataset.classes),
        "options": repr(options),
    }
