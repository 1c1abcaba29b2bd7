"""Which formats a path holds. The first source is the dataset; others in the same folder are compared with it."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from dataclasses import replace

from holdfast.data.dataset_reader import Source
from holdfast.data.files import filesystem, text_encoding
from holdfast.data.files.file_index import IMAGE_FOLDERS, FileIndex, is_image, siblings, suffix_of
from holdfast.data.files.tfrecord_framing import looks_framed
from holdfast.data.formats import (
    FORMATS,
    coco,
    csv,
    cvat,
    datumaro,
    label_studio,
    labelme,
    open_images,
    parquet,
    tfrecord,
    via,
    voc,
    yolo,
)
from holdfast.data.reading import unsupported_formats
from holdfast.data.tables.csv_columns import is_open_images
from holdfast.errors import HoldfastError, PathMissing, PermissionRefused, UnknownFormat, UnreadableAnnotation

_READABLE = (
    "COCO, labelme, Label Studio, VIA, Datumaro and Supervisely JSON, Pascal VOC and CVAT XML, YOLO text, CSV (Open "
    "Images too), TFRecord and Parquet are read"
)


def open_sources(path: str, format: str | None = None) -> list[Source]:
    """All sets of annotations at a path: a folder, a file, a glob of TFRecord shards or a URL."""
    if re.search(r"[*?\[]", path) and not filesystem.exists(path):
        found = _from_glob(path)
    elif not filesystem.exists(path):
        raise _missing_path_error(path)
    elif filesystem.is_folder(path):
        found = _from_folder(path, format)
    else:
        found = _from_file(path, format)
    if format is not None:
        found = [source for source in found if source.format == format]
    if not found and format is not None and (others := _formats_of(path)):
        raise UnknownFormat(
            f"nothing here is in the format {format}",
            where=path,
            found=f"what is here is in the format {' and '.join(others)}",
            change=f"--format {others[0]}, or leave --format out",
        )
    if not found:
        seen, change = _describe_contents(path)
        raise UnknownFormat(
            f"nothing here is in the format {format}" if format else "no annotations were found here",
            where=path,
            found=seen,
            change=[*change, _READABLE] if change else f"give what holds the annotations; {_READABLE}",
        )
    return found


_JSON_FORMATS = (via.FORMAT, label_studio.FORMAT, datumaro.FORMAT)


def _formats_of(path: str) -> list[str]:
    """What the path holds after all, when it does not hold what was asked for."""
    with contextlib.suppress(HoldfastError):
        return [source.format for source in open_sources(path)]
    return []


def _missing_path_error(path: str) -> HoldfastError:
    """Nothing there, or nothing that this user may see."""
    shut = filesystem.unreadable_folder(path)
    if shut:
        return PermissionRefused(
            "this user may not look into a folder on the way to this path",
            where=path,
            found=f"the folder {shut}",
            change=f"chmod a+rx {shlex.quote(shut)}, or run as its owner",
        )
    return PathMissing(
        "there is nothing at this path",
        where=path,
        change=_similar_name(path) or "give a folder or file of images and boxes that exists",
    )


def _similar_name(path: str) -> str:
    """The nearest name in the folder above, for a slip of the keyboard."""
    from holdfast.errors import nearest

    folder, name = os.path.split(path.rstrip("/"))
    if filesystem.is_url(path) or not os.path.isdir(folder or "."):
        return ""
    try:
        close = nearest(name, os.listdir(folder or "."))
    except OSError:
        return ""
    return f"the nearest name there is {os.path.join(folder, close)}" if close else ""


def _describe_contents(path: str) -> tuple[list[str], list[str]]:
    """What lies there instead, and what to do about it."""
    if not filesystem.is_folder(path):
        return unsupported_formats.describe_foreign_files("", [path])
    names = list(FileIndex.of(path).files)
    counts: dict[str, int] = {}
    for name in names:
        counts[suffix_of(name) or "no extension"] = counts.get(suffix_of(name) or "no extension", 0) + 1
    if not counts:
        return ["the folder is empty"], []
    most = sorted(counts.items(), key=lambda item: -item[1])[:6]
    found, change = unsupported_formats.describe_foreign_files(path, names)
    return ["files: " + ", ".join(f"{count} {suffix}" for suffix, count in most), *found], change


def _from_glob(pattern: str) -> list[Source]:
    paths = [path for path in filesystem.glob(pattern) if not filesystem.is_folder(path)]
    if not paths:
        raise PathMissing("no file matches this pattern", where=pattern)
    root = (
        filesystem.parent(paths[0])
        if filesystem.is_url(pattern)
        else os.path.commonpath([os.path.dirname(p) for p in paths])
    )
    inside = tuple(path[len(root.rstrip("/")) + 1 :] if root else path for path in paths)
    beside = list(FileIndex.of(root).with_suffix(".pbtxt")) if root else []
    source = tfrecord.open_source(FileIndex(root, inside), beside, pattern)
    if source is None:
        raise UnknownFormat(
            "a pattern names TFRecord shards, and the files that match are none",
            where=pattern,
            found=", ".join(inside[:5]),
            change="give the folder that holds them, or one of the files",
        )
    return [_require_usable(source)]


def _require_usable(source: tfrecord.TfrecordSource) -> Source:
    if not source.shards:
        problem = source.noted[0]
        raise UnreadableAnnotation(problem.detail, where=problem.file, change=problem.remedy)
    return source


def _from_folder(root: str, format: str | None) -> list[Source]:
    if not filesystem.is_url(root) and not os.access(root, os.R_OK | os.X_OK):
        raise PermissionRefused(
            "this user may not read the folder", where=root, change=f"chmod u+rx {root!r}"
        )
    listing = FileIndex.of(root)
    if _half_of_a_dataset(root, listing):
        with contextlib.suppress(HoldfastError):
            if whole := _from_folder(filesystem.parent(root.rstrip("/")), format):
                return whole
    label_maps = list(listing.with_suffix(".pbtxt"))
    found = [
        source
        for name, open_folder in FORMATS.items()
        if format in (None, name) and (source := open_folder(listing, label_maps)) is not None
    ]
    if len(found) > 1:  # a folder of refused shards beside real annotations is a finding, not the dataset
        found.sort(key=lambda source: isinstance(source, tfrecord.TfrecordSource) and not source.shards)
    elif found and isinstance(found[0], tfrecord.TfrecordSource):
        _require_usable(found[0])
    return found


def _half_of_a_dataset(root: str, listing: FileIndex) -> bool:
    """A folder called annotations without images, or one called images with nothing else: the rest is above."""
    base = root.rstrip("/").rsplit("/", 1)[-1].lower()
    images = listing.images()
    if not listing.files or not filesystem.parent(root.rstrip("/")):
        return False
    alone = base in IMAGE_FOLDERS and len(images) == len(listing.files)
    return alone or (base in _ANNOTATION_FOLDERS and not images)


def _from_file(path: str, format: str | None) -> list[Source]:
    folder, name = filesystem.parent(path), path.rsplit("/", 1)[-1]
    suffix = suffix_of(name)
    if suffix == ".pbtxt":
        raise UnknownFormat("this is a label map, which has no images", where=path, change="give its dataset")
    head = filesystem.read_bytes(path, 0, 16)
    if tfrecord.is_shard_name(name) or looks_framed(head):
        beside = list(siblings(folder, name).with_suffix(".pbtxt")) or tfrecord.label_maps_above(folder)
        source = tfrecord.open_source(FileIndex(folder, (name,)), beside, path)
        return [_require_usable(source)] if source else []
    if is_image(name):
        raise UnknownFormat(
            "this is one image, not a dataset", where=path, change="give the folder of the dataset"
        )
    if suffix in (".yaml", ".yml"):
        settings = yolo.read_yaml(path)
        root = _yaml_root(folder, settings)
        listing = FileIndex.of(root)
        inside = os.path.relpath(path, root) if not filesystem.is_url(path) else name
        yolo_source = yolo.open_source(listing, inside)
        return [yolo_source] if yolo_source else []
    listing, inside = _dataset_root(folder, name)
    if suffix == ".json":
        if labelme.looks_like_labelme(path):
            only = labelme.open_source(
                FileIndex(listing.root, tuple(f for f in listing.files if f == inside or is_image(f)))
            )
            return [replace(only, path=path)] if only else []
        for one in _JSON_FORMATS:
            if one.looks_like(path) and not coco.looks_like_coco(path):
                listed = one.open_source(listing, inside, path)
                return [listed] if listed else []
        return [_coco_file(listing, inside, path)]
    if suffix == ".parquet":
        rows = parquet.open_source(listing, [inside], path)
        return [rows] if rows else []
    if suffix == ".xml" and cvat.FORMAT.looks_like(path):
        drawn = cvat.FORMAT.open_source(listing, inside, path)
        return [drawn] if drawn else []
    if suffix == ".xml":
        files = tuple(other for other in listing.files if other == inside or is_image(other))
        single = voc.open_source(FileIndex(listing.root, files), {})
        return [replace(single, path=path)] if single else []
    columns = csv.columns_of(path) if suffix in (".csv", ".tsv", ".txt") else None
    if columns is not None and is_open_images(columns[0]):
        return [open_images.open_source(listing, [inside], path)]
    if columns is not None:
        return [csv.open_source(listing, [inside], path)]
    if suffix in (".csv", ".tsv"):
        raise UnreadableAnnotation(
            "the columns of this CSV are not those of a table of boxes",
            where=path,
            found="its first line: "
            + text_encoding.text(filesystem.read_bytes(path, 0, 4096)).split("\n")[0][:200],
            change=unsupported_formats.COLUMNS,
        )
    return []


def _coco_file(listing: FileIndex, inside: str, path: str) -> Source:
    try:
        return coco.open_source(listing, [inside], path)
    except UnreadableAnnotation as error:
        seen, change = unsupported_formats.describe_foreign_files("", [path])
        raise UnreadableAnnotation(
            error.what, where=path, found=[*error.found, *seen], change=[*error.change, *change]
        ) from None


def _yaml_root(folder: str, settings: dict[str, object]) -> str:
    base = settings.get("path")
    if isinstance(base, str) and base and not filesystem.is_url(folder):
        beside = [os.path.normpath(filesystem.join(folder, place)) for place in (base, f"../{base}")]
        for candidate in (beside[0], base, beside[1]):
            if _has_images(candidate):
                return candidate
    if filesystem.is_url(folder) or _has_images(folder or "."):
        return folder
    # Beside the folder of settings that the YAML is in: `train: ../dataset/images`.
    places = [
        place for value in settings.values() for place in (value if isinstance(value, list) else [value])
    ]
    above = any(
        isinstance(place, str) and place.startswith("..") and os.path.exists(filesystem.join(folder, place))
        for place in places
    )
    return os.path.dirname(os.path.abspath(folder or ".")) if above else folder


def _has_images(folder: str) -> bool:
    return filesystem.is_folder(folder) and any(map(is_image, filesystem.walk(folder)))


_ANNOTATION_FOLDERS = (
    "annotations",
    "annotation",
    "labels",
    "label",
    "json",
    "jsons",
    "xml",
    "xmls",
    "csv",
    "ann",
)


def _dataset_root(folder: str, name: str) -> tuple[FileIndex, str]:
    """The folder to look for images in, and the file's place in it."""
    base = folder.rstrip("/").rsplit("/", 1)[-1]
    if base.lower() in _ANNOTATION_FOLDERS:
        return FileIndex.of(filesystem.parent(folder.rstrip("/"))), f"{base}/{name}"
    return FileIndex.of(folder or "."), name
