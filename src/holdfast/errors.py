"""One tree of errors. An error is data first: what, where, found, change; `report.text` renders it.

An error is a mistake that its reader can mend, so each says what is wrong, where it is, what was
found there and what to change. A class exists where a caller or a test tells it from its parent;
its slug never changes once released.
"""

from __future__ import annotations

import enum
import errno
from collections.abc import Iterable
from pathlib import Path


class ExitCode(enum.IntEnum):
    """What the shell sees. `holdfast run` returns its child's own code instead."""

    FINE = 0  # done, and nothing to say against it
    FINDINGS = 1  # done, and the answer is bad news: a failed run, dirty data, a plan that does not fit
    COULD_NOT = 2  # not done: a mistake in the command, the recipe or the machine, said in an error
    STALLED = 124  # the watched command stalled and was stopped (as `timeout` has it)
    NOT_EXECUTABLE = 126  # the watched command may not be executed (as a shell has it)
    NOT_STARTED = 127  # the watched command could not be started (as a shell has it)
    INTERRUPTED = 130  # Ctrl-C


class HoldfastError(Exception):
    """The root. Give `what` as a sentence, the rest as far as it is known."""

    slug = "error"
    exit_code = ExitCode.COULD_NOT
    advice = ""  # what to change where nobody nearer to it says so

    def __init__(
        self,
        what: str,
        *,
        where: str | Path = "",
        found: str | Iterable[str] = "",
        change: str | Iterable[str] = "",
        more: str = "",
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = str(where)
        self.found = _lines(found)
        self.change = _lines(change)
        self.more = more

    @property
    def advised(self) -> tuple[str, ...]:
        return self.change or _lines(self.advice)

    def as_json(self) -> dict[str, object]:
        return {
            "error": self.slug,
            "what": self.what,
            "where": self.where,
            "found": list(self.found),
            "change": list(self.advised),
            "more": self.more,
        }


def _lines(text: str | Iterable[str]) -> tuple[str, ...]:
    return ((text,) if text else ()) if isinstance(text, str) else tuple(text)


def nearest(name: str, among: Iterable[str]) -> str | None:
    """The name that was probably meant, or None when nothing is close."""
    from difflib import get_close_matches  # only a mistake pays for it

    by_lower = {known.lower(): known for known in among}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


# -- the command line ---------------------------------------------------------------------------


class UsageError(HoldfastError):
    """The command itself is wrong."""

    slug = "usage"


class UnknownCommand(UsageError):
    slug = "unknown-command"


class UnknownOption(UsageError):
    slug = "unknown-option"


# -- the recipe ---------------------------------------------------------------------------------


class RecipeError(HoldfastError):
    """The recipe, or an override of it, cannot be used."""

    slug = "recipe"


class RecipeNotToml(RecipeError):
    slug = "recipe-not-toml"


class UnknownSetting(RecipeError):
    slug = "unknown-setting"


class WrongType(RecipeError):
    slug = "wrong-type"


class OutOfRange(RecipeError):
    slug = "out-of-range"


class SettingMissing(RecipeError):
    slug = "setting-missing"


class ContradictorySettings(RecipeError):
    slug = "contradictory-settings"


# -- files --------------------------------------------------------------------------------------


class FileError(HoldfastError):
    """A path does not hold what was expected there."""

    slug = "file"
    advice = "look at the path and its file system"


class PathMissing(FileError):
    slug = "path-missing"
    advice = "give a path that exists"


class NotAFile(FileError):
    slug = "not-a-file"
    advice = "give the file inside it"


class NotAFolder(FileError):
    slug = "not-a-folder"
    advice = "give a folder"


class PermissionRefused(FileError):
    slug = "permission-denied"
    advice = "chmod or chown the path, or run as its owner"


class DiskFull(FileError):
    slug = "disk-full"
    advice = "free some space, or choose another folder"


class AlreadyThere(FileError):
    """Something would be overwritten, and nobody asked for that."""

    slug = "already-there"
    advice = "choose another name"


# -- runs ---------------------------------------------------------------------------------------


class NotARun(HoldfastError):
    """The folder is not a run's folder."""

    slug = "not-a-run"


class JournalTooNew(HoldfastError):
    """The journal was written by a later Holdfast."""

    slug = "journal-too-new"


class CommandNotFound(HoldfastError):
    """The command to watch could not be started."""

    slug = "command-not-found"
    advice = "give a program that can be started, as in: holdfast run -- python train.py"
    exit_code = ExitCode.NOT_STARTED


class CommandNotExecutable(CommandNotFound):
    slug = "command-not-executable"
    exit_code = ExitCode.NOT_EXECUTABLE


# -- data ---------------------------------------------------------------------------------------


class DataError(HoldfastError):
    """A dataset cannot be read as what it seems to be."""

    slug = "data"
    advice = "`holdfast check` on the dataset lists what is wrong with it"


class UnknownFormat(DataError):
    slug = "unknown-format"
    advice = "give data in a format that is read: COCO, VOC, YOLO, CSV, labelme or TFRecord"


class UnreadableAnnotation(DataError):
    slug = "unreadable-annotation"
    advice = "mend the file, or take it out of the dataset"


class UndecodableImage(DataError):
    """A picture met while training cannot be decoded, and no more may be skipped."""

    slug = "undecodable-image"
    advice = "`holdfast data repair SRC DST` writes a copy without such pictures"


# -- the installation ---------------------------------------------------------------------------


class DependencyMissing(HoldfastError):
    """A part needs a package that is not installed; `change` names the extra that brings it."""

    slug = "dependency-missing"


def needs(package: str, extra: str, for_what: str) -> DependencyMissing:
    return DependencyMissing(
        f"{for_what} needs {package}, which is not installed",
        change=f'pip install "holdfast[{extra}]"',
    )


# -- the operating system's own errors ------------------------------------------------------------


def of_os(error: OSError) -> HoldfastError:
    """An OSError that nobody nearer to it has turned into words."""
    path = str(error.filename or "")
    kind, what, change = _OS_ERRORS.get(error.errno or 0, (FileError, error.strerror or str(error), ""))
    return kind(f"{what}: {path}" if path else what, where=path, found=str(error), change=change)


_OS_ERRORS: dict[int, tuple[type[HoldfastError], str, str]] = {
    errno.ENOENT: (PathMissing, "there is no such file or folder", ""),
    errno.EISDIR: (NotAFile, "this is a folder, a file was expected", ""),
    errno.ENOTDIR: (NotAFolder, "this is a file, a folder was expected", ""),
    errno.EACCES: (PermissionRefused, "the system refused access", ""),
    errno.EPERM: (PermissionRefused, "the system refused access", ""),
    errno.EROFS: (PermissionRefused, "the file system is read-only", "choose a folder that can be written"),
    errno.ENOSPC: (DiskFull, "the disk is full", ""),
    errno.EDQUOT: (DiskFull, "the disk quota is used up", ""),
    errno.EEXIST: (AlreadyThere, "it exists already, and nothing is overwritten unasked", ""),
}
