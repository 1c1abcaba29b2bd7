"""torchvision's public files: fetched once into the cache, resumed where a download ended, checked by SHA-256."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import http.client
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast import units
from holdfast.errors import DownloadBlocked, of_os
from holdfast.host.cache_folder import cache_folder
from holdfast.settings.pretrained import ADDRESS, PretrainedFile
from holdfast.terminal_text import write_control

#: Another place that has torchvision's files under their names, such as a mirror.
ADDRESS_VARIABLE = "HOLDFAST_WEIGHTS_URL"
CHUNK = 1 << 20
ATTEMPTS = 3
TIMEOUT_S = 30.0
EVERY_S = 0.5
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def weights_folder() -> Path:
    return cache_folder() / "weights"


def fetch(
    wanted: PretrainedFile, say: Callable[[str], None] = lambda text: print(text, file=sys.stderr)
) -> Path:
    """The file's path in the cache; it is downloaded if it is not there."""
    target = weights_folder() / wanted.file
    if target.is_file():
        return target
    address = os.environ.get(ADDRESS_VARIABLE, ADDRESS).rstrip("/") + "/" + wanted.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.partial")
        with _alone(partial) as file:
            if target.is_file():  # another process was faster
                return target
            say(f"holdfast: downloading {address} to {target}")
            _download(address, file, target, say)
            _check(partial, wanted, address)
            partial.replace(target)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _blocked(address, target, error) from error
    except OSError as error:
        error.filename = error.filename or str(target.parent)
        raise of_os(error) from error
    return target


@contextmanager
def _alone(partial: Path) -> Iterator[Any]:
    """The file that is written, while no other process writes it."""
    with partial.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _download(address: str, file: Any, target: Path, say: Callable[[str], None]) -> None:
    """What is missing of the file. A connection that ends early is opened again where it ended."""
    failed = 0
    while True:
        before = file.tell()
        try:
            if _fetch_rest(address, file, say):
                return
            reason: Exception = ConnectionError(f"the connection ended after {units.size(file.tell())}")
        except urllib.error.HTTPError:
            raise
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise
            reason = error
        failed = 0 if file.tell() > before else failed + 1
        if failed >= ATTEMPTS or (file.tell() == 0 and isinstance(reason, urllib.error.URLError)):
            raise reason
        time.sleep(min(failed, 2) * 0.5)


def _fetch_rest(address: str, file: Any, say: Callable[[str], None]) -> bool:
    """Whether the file is complete afterwards."""
    had = file.tell()
    request = urllib.request.Request(address, headers={"Range": f"bytes={had}-"} if had else {})
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        if error.code == 416 and had:  # nothing is missing, or what is there is longer: the checksum decides
            return True
        raise
    with answer:
        if had and answer.status != 206:  # the server sends all of it again
            file.truncate(0)
            file.seek(had := 0)
        length = answer.headers.get("Content-Length")
        total = had + int(length) if length and length.isdigit() else None
        progress = _Progress(total, say)
        while chunk := answer.read(CHUNK):
            file.write(chunk)
            progress.show(file.tell())
        file.flush()
        progress.end()
        return total is None or file.tell() >= total


class _Progress:
    """A line on a terminal that counts; elsewhere a line at every quarter."""

    def __init__(self, total: int | None, say: Callable[[str], None]) -> None:
        self._total, self._say = total, say
        self._terminal = sys.stderr.isatty()
        self._shown, self._quarter = 0.0, 0

    def show(self, done: int) -> None:
        if self._terminal and time.monotonic() - self._shown > EVERY_S:
            self._shown = time.monotonic()
            write_control(sys.stderr, "\r\x1b[K")
            sys.stderr.write(f"  {self._text(done)}")
            sys.stderr.flush()
        quarter = 4 * done // self._total if self._total else 0
        if not self._terminal and quarter > self._quarter:
            self._quarter = quarter
            self._say(f"  {self._text(done)}")

    def end(self) -> None:
        if self._terminal:
            write_control(sys.stderr, "\r\x1b[K")

    def _text(self, done: int) -> str:
        whole = f" of {units.size(self._total)}, {100 * done // self._total} %" if self._total else ""
        return f"{units.size(done)}{whole}"


def _check(partial: Path, wanted: PretrainedFile, address: str) -> None:
    digest = hashlib.sha256()
    with partial.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    if digest.hexdigest().startswith(wanted.digest):
        return
    partial.unlink()
    raise DownloadBlocked(
        "what was downloaded is not torchvision's file: its checksum differs, and it was removed",
        where=address,
        found=f"SHA-256 {digest.hexdigest()[:16]}…, and {wanted.digest}… is wanted",
        change="try again; a proxy that answers with a page of its own does this too",
    )


def _blocked(address: str, target: Path, error: Exception) -> DownloadBlocked:
    return DownloadBlocked(
        f"the pretrained weights {target.name} could not be downloaded",
        where=address,
        found=" ".join(str(getattr(error, "reason", None) or error).split())[:200] or type(error).__name__,
        change=[
            f"on a machine with internet access download {ADDRESS}{target.name}, and copy it to {target}",
            'or give its path: model.weights = "FILE.pth"',
            f"or name a mirror with {ADDRESS_VARIABLE}",
        ],
    )
