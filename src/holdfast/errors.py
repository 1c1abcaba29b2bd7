"""One tree of errors. An error is data first: what, where, found, change; `report.text` renders it.

An error is a mistake that its reader can fix, so each says what is wrong, where it is, what was
found there and what to change. A class exists where a caller or a test distinguishes it from its
parent; its slug never changes once released.
"""

from __future__ import annotations

import enum
import errno
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


class ExitCode(enum.IntEnum):
    """Exit codes of Holdfast. `holdfast run` returns the code of its command instead."""

    FINE = 0  # done, no problems
    FINDINGS = 1  # done, problems found: a failed run, bad data, a plan that does not fit
    COULD_NOT = 2  # not done: a mistake in the command, the recipe or the machine, printed as an error
    STALLED = 124  # the watched command stalled and was stopped (as with `timeout`)
    NOT_EXECUTABLE = 126  # the watched command may not be executed (as in a shell)
    NOT_STARTED = 127  # the watched command could not be started (as in a shell)
    INTERRUPTED = 130  # Ctrl-C


class HoldfastError(Exception):
    """The root. `what` is a sentence; the rest as far as it is known."""

    slug = "error"
    exit_code = ExitCode.COULD_NOT
    advice = ""  # what to change, where the raising code gives no `change`

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


def from_json(content: Mapping[str, Any]) -> HoldfastError:
    """The error that another process printed as JSON."""
    error = HoldfastError(
        content["what"],
        where=content["where"],
        found=content["found"],
        change=content["change"],
        more=content["more"],
    )
    error.slug = content["error"]
    return error


def nearest(name: str, among: Iterable[str]) -> str | None:
    """The name that was probably meant, or None when nothing is close."""
    from difflib import get_close_matches  # needed only after a mistake

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


class TooFewDevices(RecipeError):
    """The machine has fewer devices than the recipe uses."""

    slug = "too-few-devices"


# -- files --------------------------------------------------------------------------------------


class FileError(HoldfastError):
    """A path does not hold what was expected there."""

    slug = "file"
    advice = "check the path and its file system"


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
    """Something would be overwritten without being asked to."""

    slug = "already-there"
    advice = "choose another name"


# -- weights -------------------------------------------------------------------------------------


class WeightsDoNotFit(HoldfastError):
    """A file of weights belongs to another network."""

    slug = "weights-do-not-fit"


class DownloadBlocked(HoldfastError):
    """Weights had to be fetched and could not be."""

    slug = "download-blocked"


# -- runs ---------------------------------------------------------------------------------------


class NotARun(HoldfastError):
    """The folder is not a run folder."""

    slug = "not-a-run"


class NotALog(HoldfastError):
    """The file or the input is not the log of a run."""

    slug = "not-a-log"
    advice = "give what the run printed: python train.py 2>&1 | tee train.log"


class JournalTooNew(HoldfastError):
    """The journal was written by a later Holdfast."""

    slug = "journal-too-new"


class CommandNotFound(HoldfastError):
    """The command to watch could not be started."""

    slug = "command-not-found"
    advice = "give a program that exists, e.g. holdfast run -- python train.py"
    exit_code = ExitCode.NOT_STARTED


class CommandNotExecutable(CommandNotFound):
    slug = "command-not-executable"
    exit_code = ExitCode.NOT_EXECUTABLE


# -- data ---------------------------------------------------------------------------------------


class DataError(HoldfastError):
    """A dataset cannot be read in its format."""

    slug = "data"
    advice = "`holdfast check` lists the problems of the dataset"


class UnknownFormat(DataError):
    slug = "unknown-format"
    advice = "use a format that is read: `holdfast check --help` lists them"


class UnreadableAnnotation(DataError):
    slug = "unreadable-annotation"
    advice = "fix the file, or remove it from the dataset"


class UndecodableImage(DataError):
    """An image cannot be decoded during training, and no more may be skipped (`data.skip_bad`)."""

    slug = "undecodable-image"
    advice = "`holdfast data repair SRC DST` writes a copy without such images"


# -- the installation ---------------------------------------------------------------------------


class DependencyMissing(HoldfastError):
    """A package is not installed; `change` names the extra that installs it."""

    slug = "dependency-missing"


def needs(package: str, extra: str, for_what: str) -> DependencyMissing:
    return DependencyMissing(
        f"{for_what} needs {package}, which is not installed",
        change=f'pip install "holdfast[{extra}]"',
    )


# -- the operating system's own errors ------------------------------------------------------------


def of_os(error: OSError) -> HoldfastError:
    """An OSError that no code closer to its cause has turned into an error of ours."""
    path = str(error.filename or "")
    kind, what, change = _OS_ERRORS.get(error.errno or 0, (FileError, error.strerror or str(error), ""))
    return kind(f"{what}: {path}" if path else what, where=path, found=str(error), change=change)


_OS_ERRORS: dict[int, tuple[type[HoldfastError], str, str]] = {
    errno.ENOENT: (PathMissing, "there is no such file or folder", ""),
    errno.EISDIR: (NotAFile, "this is a folder, and a file is expected", ""),
    errno.ENOTDIR: (NotAFolder, "this is a file, and a folder is expected", ""),
    errno.EACCES: (PermissionRefused, "permission denied", ""),
    errno.EPERM: (PermissionRefused, "permission denied", ""),
    errno.EROFS: (PermissionRefused, "the file system is read-only", "choose a writable folder"),
    errno.ENOSPC: (DiskFull, "the disk is full", ""),
    errno.EDQUOT: (DiskFull, "the disk quota is used up", ""),
    errno.EEXIST: (AlreadyThere, "it already exists, and is not overwritten", ""),
}
