"""Images of TFRecords that hold no image bytes: files beside the shards, named by `image/filename` or the like."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.data.files import filesystem
from holdfast.data.files.file_index import IMAGE_FOLDERS, FileIndex, ImageFinder, folder_of
from holdfast.data.files.tfrecord_framing import RecordFrame, frames, read_frame
from holdfast.data.formats.tf_example import Example, NotAnExample, parse_example
from holdfast.data.records import ImageRef
from holdfast.errors import HoldfastError

_NAMES = (
    "image/filename",
    "image/path",
    "image/file_name",
    "image/source_id",
    "image/key",
    "filename",
    "image_path",
)


@dataclass(frozen=True, slots=True)
class ImagesBeside:
    root: str
    finder: ImageFinder

    def find(self, example: Example, shard: str, declared: tuple[int | None, int | None]) -> ImageRef | None:
        """The image that the record names; where it is not there, where it was expected. None: it names none."""
        names = names_in(example)
        if not names:
            return None
        found = next(filter(None, (self.finder.find(name, near=shard) for name in names)), None)
        path = filesystem.join(self.root, found) if found else self.finder.expected(names[0], shard)
        return ImageRef(path, width=declared[0], height=declared[1])


def names_in(example: Example) -> list[str]:
    return list(dict.fromkeys(filter(None, map(example.text, _NAMES))))


def images_beside(listing: FileIndex, shards: list[str]) -> ImagesBeside | None:
    """Where to look for the images; None where the records hold their own, or name none."""
    if not any(_names_a_file(listing.path(shard)) for shard in shards[:3]):
        return None
    root = listing.root or "."
    for place in (root, filesystem.parent(root.rstrip("/")) or ""):
        images = listing.images() if place == root else _above(place)
        if images:
            return ImagesBeside(place, ImageFinder.of(place, images))
    return ImagesBeside(root, ImageFinder.of(root, ()))


def _above(folder: str) -> list[str]:
    """The shards may be in a folder of their own, with the images right above or in a folder of images beside it.
    Other folders there are other datasets, which have images of the same names."""
    if not filesystem.is_folder(folder):
        return []
    images = FileIndex.of(folder).images()
    return [name for name in images if folder_of(name).partition("/")[0].lower() in ("", *IMAGE_FOLDERS)]


def _names_a_file(shard: str) -> bool:
    """Whether the first record has boxes and a name, and no image."""
    try:
        with filesystem.open_binary(shard) as handle:
            first = next(frames(handle, handle.seek(0, 2)), None)
            data = read_frame(handle, first) if isinstance(first, RecordFrame) else None
        example = parse_example(data or b"")
    except (HoldfastError, NotAnExample):
        return False
    return not example.slices("image/encoded") and bool(names_in(example))
