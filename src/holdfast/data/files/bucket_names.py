"""The names of a bucket, a page at a time: the clients' own listing keeps a kibibyte or more of each object.

Google's client also ends its listing after ten million objects without a word.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from holdfast.data.files.packed_list import PackedList

PAGE = 1000  # what one answer of either storage has at most


def below(filesystem: Any, folder: str) -> Sequence[str]:
    """Names of all objects below a folder of an fsspec filesystem, relative to it, in the order of their text."""
    pages = _pages(filesystem, folder)
    if pages is None:
        start = folder.rstrip("/") + "/"
        return PackedList(name.removeprefix(start) for name in sorted(filesystem.find(folder)))
    # The marker of a folder, also of this one, has a name that ends with a slash.
    names = PackedList(name for page in pages for name in page if name and not name.endswith("/"))
    in_order = all(one < other for one, other in pairwise(names))
    return names if in_order else PackedList(sorted(names))


def anything_below(filesystem: Any, folder: str) -> bool | None:
    """Whether the folder has an object; None where this has to be asked otherwise."""
    with contextlib.suppress(OSError):
        pages = _pages(filesystem, folder, most=1)
        if pages is not None and filesystem.split_path(folder)[1]:
            return bool(next(pages, []))
    return None


def _pages(filesystem: Any, folder: str, most: int = PAGE) -> Iterator[list[str]] | None:
    """The names relative to the folder; None of another storage than Google's and S3."""
    kinds = filesystem.protocol if isinstance(filesystem.protocol, tuple | list) else (filesystem.protocol,)
    listed = _of_google if "gs" in kinds else _of_s3 if "s3" in kinds else None
    if listed is None:
        return None
    bucket, key, _ = filesystem.split_path(folder)
    return listed(filesystem, bucket, key.rstrip("/") + "/" if key else "", most)


def _of_google(filesystem: Any, bucket: str, prefix: str, most: int) -> Iterator[list[str]]:
    asked: dict[str, Any] = {"prefix": prefix, "maxResults": most, "fields": "items(name),nextPageToken"}
    while True:
        page = filesystem.call("GET", "b/{}/o", bucket, json_out=True, **asked)
        yield [item["name"].removeprefix(prefix) for item in page.get("items", ())]
        if not page.get("nextPageToken"):
            return
        asked["pageToken"] = page["nextPageToken"]


def _of_s3(filesystem: Any, bucket: str, prefix: str, most: int) -> Iterator[list[str]]:
    asked: dict[str, Any] = {"Bucket": bucket, "Prefix": prefix, "MaxKeys": most}
    asked |= filesystem.req_kw  # who pays for the request
    while True:
        page = filesystem.call_s3("list_objects_v2", **asked)
        yield [item["Key"].removeprefix(prefix) for item in page.get("Contents", ())]
        if not page.get("IsTruncated"):
            return
        asked["ContinuationToken"] = page["NextContinuationToken"]
