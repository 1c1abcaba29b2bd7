"""Files that the training has mapped into its memory, and what became of them when a page of one could not be had.

SIGBUS names no file, and nothing of a process can be read when it has gone.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat

from holdfast.host import procfs
from holdfast.journal.events import MappedFileSeen

#: The map is read again when it has grown or shrunk by so much: that takes a millisecond, and smaller files are rare.
_CHANGED_BYTES = 1 << 20
_MOST_FILES = 64
_LINE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+ +(/.*)$", re.MULTILINE)
_LIBRARY = re.compile(r"\.so[\d.]*$|^/(dev/(?!shm/)|usr/|lib)")
#: statvfs of another kind may never return.
_LOCAL = ("tmpfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "overlay", "f2fs", "zfs", "ramfs")
_NO_PAGE_BYTES = 4 << 20  # as in explain/readings/limits.py: pages of up to 2 MiB
_MOST_ENTRIES = 2000  # of a file system that are looked at
_GONE = " (deleted)"
_BLOCK_BYTES = 512  # of st_blocks, whatever the file system


class MappedFiles:
    def __init__(self) -> None:
        self._files: dict[str, int] = {}  # bytes that are mapped of each
        self._virtual: dict[int, int] = {}

    def look(self, pid: int, virtual_bytes: int) -> None:
        if abs(virtual_bytes - self._virtual.get(pid, 0)) < _CHANGED_BYTES:
            return
        self._virtual = {pid: virtual_bytes}
        found = mapped(procfs.read(f"/proc/{pid}/maps") or b"")
        self._files = dict(sorted(found.items(), key=lambda one: -one[1])[:_MOST_FILES])

    def at_the_end(self) -> list[MappedFileSeen]:
        found = dict(self._files)
        for path in sparse_files(full_mounts()):
            found.setdefault(path, 0)  # filled between two looks
        return [_seen(path, size) for path, size in found.items()]


def mapped(text: bytes) -> dict[str, int]:
    """Of shared mappings of files, and of private ones that are written to; libraries left out."""
    sizes: dict[str, int] = {}
    for start, end, mode, path in _LINE.findall(text.decode(errors="replace")):
        if (mode[3] == "s" or mode[1] == "w") and not _LIBRARY.search(path.removesuffix(_GONE)):
            sizes[path] = sizes.get(path, 0) + int(end, 16) - int(start, 16)
    return {path: size for path, size in sizes.items() if size >= _CHANGED_BYTES}


def full_mounts(table: bytes | None = None) -> list[str]:
    """Local file systems that can be written to and have no page left."""
    lines = (procfs.read("/proc/self/mounts") if table is None else table) or b""
    fields = [line.split() for line in lines.decode(errors="replace").splitlines()]
    places = [one[1] for one in fields if len(one) > 3 and one[2] in _LOCAL and "rw" in one[3].split(",")]
    return [place for place in places if _is_full(place)]


def _is_full(place: str) -> bool:
    try:
        space = os.statvfs(place)
    except OSError:
        return False
    return space.f_blocks > 0 and space.f_bavail * space.f_frsize < _NO_PAGE_BYTES


def sparse_files(places: list[str]) -> list[str]:
    """Files in them that have less space than their size."""
    found: list[str] = []
    for place in places:
        entries = (os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names)
        for path in itertools.islice(entries, _MOST_ENTRIES):
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                if (
                    stat.S_ISREG(status.st_mode)
                    and status.st_size >= status.st_blocks * _BLOCK_BYTES + _CHANGED_BYTES
                ):
                    found.append(path)
    return found[:_MOST_FILES]


def _seen(path: str, mapped_bytes: int) -> MappedFileSeen:
    plain = path.removesuffix(_GONE)
    size = stored = free = None
    with contextlib.suppress(OSError):
        space = os.statvfs(os.path.dirname(plain))
        free = space.f_bavail * space.f_frsize
    with contextlib.suppress(OSError):
        if plain == path:
            status = os.stat(path)
            size, stored = status.st_size, status.st_blocks * _BLOCK_BYTES
    return MappedFileSeen(
        path=plain, mapped_bytes=mapped_bytes, size_bytes=size, stored_bytes=stored, free_bytes=free
    )
