"""Names of a bucket come in pages, from the real clients of Google's storage and of S3, and all of them come."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from xml.sax.saxutils import escape

import fsspec
import pytest

from holdfast.data.files import bucket_names, filesystem

NAMES = sorted(
    [f"data/images/{number}.jpg" for number in range(2_300)]
    + [
        "data/",
        "data/a-b.txt",
        "data/a/b.txt",
        "data/a b+c#1.txt",
        "data/caf\u00e9.jpg",
        "data2/x.jpg",
        "z.jpg",
    ]
)
BELOW = [name.removeprefix("data/") for name in NAMES if name.startswith("data/") and name != "data/"]


def only_name(name: str) -> dict[str, Any]:
    return {"name": name}


class Lists(BaseHTTPRequestHandler):
    """What the two storages answer to a request for a page of names."""

    names = NAMES
    pages = 0
    described: Callable[[str], dict[str, Any]] = staticmethod(only_name)

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, dict(parse_qsl(urlsplit(self.path).query))
        Lists.pages += 1
        google = path.startswith("/storage/v1/b/shop/o")
        after = int(query.get("pageToken" if google else "continuation-token", 0))
        most = int(query.get("maxResults" if google else "max-keys", 1000))
        found = [name for name in self.names if name.startswith(query.get("prefix", ""))]
        page, end = found[after : after + most], after + most if after + most < len(found) else 0
        body = _as_json([self.described(name) for name in page], end) if google else _as_xml(page, end)
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if google else "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def _as_json(page: list[dict[str, Any]], end: int) -> bytes:
    token = {"nextPageToken": str(end)} if end else {}
    return json.dumps({"kind": "storage#objects", "items": page, **token}).encode()


def _as_xml(page: list[str], end: int) -> bytes:
    token = f"<NextContinuationToken>{end}</NextContinuationToken>" if end else ""
    said = f"<IsTruncated>{'true' if end else 'false'}</IsTruncated>{token}{''.join(map(_as_s3_says, page))}"
    return f'<?xml version="1.0"?><ListBucketResult>{said}</ListBucketResult>'.encode()


def _as_s3_says(name: str) -> str:
    more = "<LastModified>2026-11-19T20:00:00.000Z</LastModified><ETag>&quot;1b2cf535f27731c974343645&quot;</ETag>"
    size = "<Size>163840</Size><StorageClass>STANDARD</StorageClass>"
    return f"<Contents><Key>{escape(name)}</Key>{more}{size}</Contents>"


@pytest.fixture(params=["gs", "s3"])
def storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv(
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false"
    )  # else a minute is spent on asking for the kind
    server = ThreadingHTTPServer(("127.0.0.1", 0), Lists)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    Lists.names, Lists.pages = NAMES, 0
    keys = {"token": "anon"} if request.param == "gs" else {"key": "k", "secret": "s"}
    yield fsspec.filesystem(request.param, endpoint_url=url, skip_instance_cache=True, **keys)
    server.shutdown()


def test_all_names_in_their_order(storage: Any) -> None:
    assert list(bucket_names.below(storage, "shop/data")) == BELOW
    assert Lists.pages == 3
    assert list(bucket_names.below(storage, "shop/data2/")) == ["x.jpg"]
    assert list(bucket_names.below(storage, "shop")) == [name for name in NAMES if name != "data/"]
    assert list(bucket_names.below(storage, "shop/nothing")) == []


def test_in_their_order_also_from_a_storage_that_has_another(storage: Any) -> None:
    Lists.names = NAMES[::-1]
    assert list(bucket_names.below(storage, "shop/data")) == BELOW


def test_whether_there_is_anything(storage: Any) -> None:
    folders = ("shop/data", "shop/data2/", "shop/dat", "shop/z.jpg")
    assert [bucket_names.anything_below(storage, folder) for folder in folders] == [True, True, False, False]


def test_another_storage_lists_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/2.txt", "a/1.txt", "b/3.txt"):
        filesystem.write_bytes(f"memory://names/{name}", b"x")
    assert list(filesystem.walk("memory://names")) == ["a/1.txt", "a/2.txt", "b/3.txt"]
    assert filesystem.is_folder("memory://names/a") and not filesystem.is_folder("memory://names/a/1.txt")
