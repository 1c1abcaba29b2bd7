"""Files to and from a bucket: tried again when it was an accident, checked when they arrived, and explained when not.

gcsfs and its like retry by themselves inside one request; what is here retries the whole file, since an answer can
also be cut short without an error.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from holdfast import atomic_write
from holdfast.data.files import filesystem as files_filesystem
from holdfast.errors import DiskFull, FileError, PathMissing, PermissionRefused
from holdfast.host.cache_folder import cache_folder

T = TypeVar("T")
TRIES = 4
PAUSE_S = 0.5  # before the second try, then twice as long each time
BUDGET_VARIABLE = "HOLDFAST_CACHE_BYTES"
FREE_SHARE = 0.8  # of the free disk that a local copy may take, unless the variable says otherwise
AT_ONCE = 16


class CredentialsRefused(FileError):
    slug = "credentials-refused"


class TruncatedTransfer(OSError):
    """Fewer bytes came than the bucket says there are, or others."""


def retry(
    what: Callable[[], T], url: str, *, tries: int = TRIES, sleep: Callable[[float], None] = time.sleep
) -> T:
    """Calls until it works, as often as makes sense; raises in our words."""
    for number in range(1, tries + 1):
        try:
            return what()
        except Exception as error:
            if number == tries or not _is_transient(error):
                raise bucket_error(error, url, tries=number) from error
            sleep(PAUSE_S * 2 ** (number - 1))
    raise AssertionError


def _is_transient(error: BaseException) -> bool:
    """Whether another try can help. Answers with a code were asked for again by gcsfs itself, for half a minute."""
    if _code(error):
        return False
    if isinstance(error, FileNotFoundError) or _is_forbidden(error) or _is_about_credentials(error):
        return False
    return isinstance(error, OSError | TimeoutError) or type(error).__module__.split(".")[0] == "aiohttp"


def _code(error: BaseException) -> int:
    try:
        return int(getattr(error, "code", 0) or getattr(error, "status", 0) or 0)
    except (TypeError, ValueError):
        return 0


def _is_about_credentials(error: BaseException) -> bool:
    kinds = ("RefreshError", "DefaultCredentialsError", "ReauthFailError", "NonRetryableError")
    return type(error).__name__ in kinds or _code(error) == 401 or "invalid credentials" in str(error).lower()


def _is_forbidden(error: BaseException) -> bool:
    """gcsfs has no type and no code for a 403: an OSError that begins with the word, before the address."""
    return isinstance(error, PermissionError) or _code(error) == 403 or str(error).startswith("Forbidden:")


def bucket_error(error: BaseException, url: str, *, tries: int = 1) -> FileError:
    """What went wrong, where, and what to do about it."""
    bucket = "/".join(url.split("/")[:3])
    found = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    if isinstance(error, FileError):
        return error
    if _is_about_credentials(error):
        return CredentialsRefused(
            f"{bucket} does not accept the credentials: there are none, or they have expired",
            where=url, found=found,
            change="gcloud auth application-default login, or GOOGLE_APPLICATION_CREDENTIALS with a key's file",
        )  # fmt: skip
    if _is_forbidden(error):
        return PermissionRefused(
            f"these credentials may not use {bucket} in this way", where=url, found=found,
            change="the role roles/storage.objectAdmin on the bucket (objectViewer to read only)",
        )  # fmt: skip
    if isinstance(error, FileNotFoundError) or _code(error) == 404:
        return PathMissing("there is nothing at this address of the bucket", where=url, found=found)
    if isinstance(error, TruncatedTransfer):
        return FileError(
            f"the file arrived cut short or changed, {tries} times", where=url, found=str(error),
            change="look whether something still writes it; else it is damaged in the bucket",
        )  # fmt: skip
    return FileError(
        "the storage gives errors, again and again", where=url, found=found,
        change="wait and --resume; https://status.cloud.google.com says whether it is known",
    )  # fmt: skip


def require_bucket(url: str) -> None:
    """Raises when the bucket itself is not there, or may not be listed."""
    filesystem, inner = files_filesystem._filesystem(url)
    bucket = inner.split("/")[0]

    def listed() -> None:
        try:
            filesystem.ls(bucket, refresh=True)
        except FileNotFoundError as error:
            raise PathMissing(
                f"there is no bucket {bucket}", where=url, found=str(error)[:200],
                change="look at the spelling of the bucket's name, and at the project",
            ) from None  # fmt: skip

    retry(listed, url)


def upload_file(local: Path, url: str) -> None:
    """Uploads one file; it is there whole or not there."""
    filesystem, inner = files_filesystem._filesystem(url)
    size = local.stat().st_size

    def once() -> None:
        filesystem.put_file(str(local), inner)
        filesystem.invalidate_cache()
        there = int(filesystem.info(inner)["size"])
        if there != size:
            raise TruncatedTransfer(f"{there} of {size} bytes are in the bucket")

    retry(once, url)


def download_file(url: str, local: Path) -> None:
    """Downloads one file under another name, checks it and gives it its own."""
    filesystem, inner = files_filesystem._filesystem(url)
    part = local.with_name(f".{local.name}.part")
    local.parent.mkdir(parents=True, exist_ok=True)

    def once() -> None:
        known = filesystem.info(inner)
        filesystem.get_file(inner, str(part))
        _check(part, known)
        os.replace(part, local)

    try:
        retry(once, url)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _check(part: Path, known: dict[str, Any]) -> None:
    size = part.stat().st_size
    if size != int(known["size"]):
        raise TruncatedTransfer(f"{size} of {known['size']} bytes came")
    wanted = known.get("md5Hash")
    if wanted:
        with part.open("rb") as file:
            real = base64.b64encode(hashlib.file_digest(file, "md5").digest()).decode()
        if real != wanted:
            raise TruncatedTransfer(f"its MD5 is {real}, and the bucket says {wanted}")


# -- a local copy of a dataset -----------------------------------------------------------------------


def local_copy(path: str, say: Callable[[str], None] = lambda text: None) -> str:
    """The path itself; for a URL, the path of a copy on this machine, made or brought up to date.

    Every image is read in every epoch, so a copy pays from the second on; a resumed run finds it again.
    """
    if not files_filesystem.is_url(path):
        return path
    require_bucket(path)
    root, rest = _root_of(path)
    filesystem, inner = files_filesystem._filesystem(root)
    listed = retry(lambda: filesystem.find(inner, detail=True), root)
    files = {name[len(inner.rstrip("/")) + 1 :]: about for name, about in listed.items()}
    if not files:
        raise PathMissing("there is nothing at this address of the bucket", where=path)
    folder = cache_folder() / "near" / hashlib.sha256(root.encode()).hexdigest()[:16]
    _note_origin(folder, root)
    missing = {name: about for name, about in files.items() if not _is_current(folder / name, about)}
    _require_space(folder, sum(int(about["size"]) for about in missing.values()), path)
    if missing:
        total = sum(int(about["size"]) for about in missing.values())
        say(f"copies {len(missing)} files ({total / 2**20:.0f} MiB) of {root} to {folder}")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda name: download_file(f"{root}/{name}", folder / name), missing))
    return str(folder / rest) if rest else str(folder)


def _note_origin(folder: Path, root: str) -> None:
    note = folder.with_name(f"{folder.name}.url")
    if not note.exists():
        note.parent.mkdir(parents=True, exist_ok=True)
        atomic_write.write_text(note, root)


def origin(path: str) -> str | None:
    """The URL of a file of a local copy; None for any other file."""
    near = f"{cache_folder() / 'near'}/"
    if not path.startswith(near):
        return None
    copy, _, name = path.removeprefix(near).partition("/")
    root = _noted_root(f"{near}{copy}.url")
    return f"{root}/{name}" if root else None


@functools.lru_cache(maxsize=64)
def _noted_root(note: str) -> str:
    with contextlib.suppress(OSError):
        return Path(note).read_text()
    return ""


def _root_of(path: str) -> tuple[str, str]:
    """What to copy, and the path below it: the folder; of a file or a pattern, the folder that it lies in."""
    plain = path.rstrip("/")
    if any(sign in plain for sign in "*?["):
        head = plain[: min(plain.find(sign) for sign in "*?[" if sign in plain)]
        root = head.rpartition("/")[0]
        return root, plain[len(root) + 1 :]
    filesystem, inner = files_filesystem._filesystem(plain)
    if retry(lambda: bool(filesystem.isfile(inner)), plain):
        root, _, name = plain.rpartition("/")
        return root, name
    return plain, ""


def _is_current(local: Path, about: dict[str, Any]) -> bool:
    """By size; what was fetched was checked when it came. A changed file has another size or a later time."""
    try:
        status = local.stat()
    except OSError:
        return False
    changed = about.get("mtime") or about.get("updated")
    if changed is not None and hasattr(changed, "timestamp") and changed.timestamp() > status.st_mtime:
        return False
    return status.st_size == int(about["size"])


def _require_space(folder: Path, wanted: int, path: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    given = os.environ.get(BUDGET_VARIABLE)
    room = int(given) if given else int(shutil.disk_usage(folder).free * FREE_SHARE)
    if wanted > room:
        raise DiskFull(
            f"a local copy of the data takes {wanted / 2**30:.2f} GiB more, and {room / 2**30:.2f} GiB may be used",
            where=path, found=f"the copy is in {folder}",
            change=[f"{BUDGET_VARIABLE} with more bytes, or XDG_CACHE_HOME on a larger disk",
                    "`holdfast data pack` or `data convert` makes a smaller copy first"],
        )  # fmt: skip
