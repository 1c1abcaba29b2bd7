"""torchvision's public files from a server on this machine: resumed, checked, and refused in words."""

from __future__ import annotations

import errno
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from holdfast.errors import DiskFull, DownloadBlocked
from holdfast.settings.pretrained import PretrainedFile
from holdfast.weights_import.torchvision import download

CONTENT = bytes(range(256)) * 40


class Server(ThreadingHTTPServer):
    """`ends_after` cuts the first answers short; `ranges` are those that were asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.ends_after, self.ranges, self.status = CONTENT, [], [], 200
        self.knows_ranges = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/models/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        asked = self.headers.get("Range", "")
        server.ranges.append(asked)
        first = int(asked.removeprefix("bytes=").rstrip("-")) if asked and server.knows_ranges else 0
        if server.status != 200 or first >= len(server.content):
            self.send_error(server.status if server.status != 200 else 416)
            return
        rest = server.content[first:]
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: server.ends_after.pop(0)] if server.ends_after else rest)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Server() as one:
        monkeypatch.setenv("HOLDFAST_WEIGHTS_URL", one.address)
        thread = threading.Thread(target=one.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield one
        one.shutdown()
        thread.join()


def wanted(content: bytes = CONTENT) -> PretrainedFile:
    digest = hashlib.sha256(content).hexdigest()[:8]
    return PretrainedFile("coco", "ssd", "vgg16", "torchvision", 300, f"tiny_coco-{digest}.pth")


def test_a_file_is_downloaded_once(server: Server) -> None:
    said: list[str] = []
    path = download.fetch(wanted(), said.append)
    assert path.read_bytes() == CONTENT
    assert download.fetch(wanted(), said.append) == path
    assert server.ranges == [""]
    assert "downloading" in said[0] and wanted().file in said[0]
    assert said[1:] == ["  10.0 KiB of 10.0 KiB, 100 %"]


def test_a_connection_that_ends_early_is_resumed_where_it_ended(server: Server) -> None:
    server.ends_after = [4000, 1000]
    assert download.fetch(wanted(), lambda text: None).read_bytes() == CONTENT
    assert server.ranges == ["", "bytes=4000-", "bytes=5000-"]


def test_what_an_earlier_process_left_is_used(server: Server) -> None:
    partial = download.weights_folder() / f"{wanted().file}.partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(CONTENT[:9000])
    assert download.fetch(wanted(), lambda text: None).read_bytes() == CONTENT
    assert server.ranges == ["bytes=9000-"]
    assert not partial.exists()


def test_a_server_that_knows_no_ranges_sends_all_of_it_again(server: Server) -> None:
    server.knows_ranges = False
    partial = download.weights_folder() / f"{wanted().file}.partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"something else")
    assert download.fetch(wanted(), lambda text: None).read_bytes() == CONTENT


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(server: Server) -> None:
    server.content = b"<html>sign in</html>"
    with pytest.raises(DownloadBlocked, match="checksum differs") as refused:
        download.fetch(wanted(), lambda text: None)
    assert hashlib.sha256(server.content).hexdigest()[:16] in refused.value.found[0]
    assert list(download.weights_folder().iterdir()) == []


def test_a_full_disk_is_said_once_with_its_folder(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def full(address: str, *_: object) -> bool:
        tried.append(address)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "_fetch_rest", full)
    with pytest.raises(DiskFull, match="the disk is full") as refused:
        download.fetch(wanted(), lambda text: None)
    assert refused.value.where == str(download.weights_folder())
    assert len(tried) == 1


def test_offline_it_says_what_to_do(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        port = closed.server_address[1]
    monkeypatch.setenv("HOLDFAST_WEIGHTS_URL", f"http://127.0.0.1:{port}/")
    with pytest.raises(DownloadBlocked, match="could not be downloaded") as refused:
        download.fetch(wanted(), lambda text: None)
    assert "refused" in refused.value.found[0]
    path = download.weights_folder() / wanted().file
    assert (
        f"https://download.pytorch.org/models/{wanted().file}, and copy it to {path}"
        in refused.value.change[0]
    )
    server.status = 404
    monkeypatch.setenv("HOLDFAST_WEIGHTS_URL", server.address)
    with pytest.raises(DownloadBlocked) as refused:
        download.fetch(wanted(), lambda text: None)
    assert "Not Found" in refused.value.found[0]
