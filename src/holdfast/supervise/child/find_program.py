"""Finds the program to start, and says what is wrong where there is none."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterable, Mapping

from holdfast.errors import CommandNotExecutable, CommandNotFound, nearest


def find(name: str, environment: Mapping[str, str]) -> str:
    """The path of the program that a shell would start; raises CommandNotFound or CommandNotExecutable."""
    path = environment.get("PATH", os.defpath)
    if "/" in name:
        if os.path.isfile(name) and not os.access(name, os.X_OK):
            raise _not_executable(name)
        if not os.path.exists(name):
            raise _not_found(name, _files_in_folder_of(name))
        if os.path.isdir(name):
            raise CommandNotExecutable(
                f"{name} is a folder, not a program",
                where="the command line",
                change="give the program in it, as in: holdfast run -- python train.py",
            )
        return name
    program = shutil.which(name, path=path)
    if program is not None:
        return program
    if os.path.isfile(name):
        raise _script_named(name)
    raise _not_found(name, _programs(path))


def not_started(name: str, program: str, error: OSError) -> CommandNotFound:
    if error.errno == errno.ENOENT:  # the file is there, so its interpreter is not
        return CommandNotFound(
            f"{program} names an interpreter that does not exist",
            where="its first line",
            found=_first_line(program),
            change=f"correct that line, or name the interpreter: holdfast run -- python {program}",
        )
    if error.errno in (errno.EACCES, errno.ENOEXEC, errno.EPERM):
        return _not_executable(program, found=error.strerror or "")
    return CommandNotFound(f"{name} could not be started: {error.strerror}", where=program)


def _not_executable(name: str, found: str = "") -> CommandNotExecutable:
    python = name.endswith(".py")
    return CommandNotExecutable(
        f"{name} may not be executed",
        where=name,
        found=found or "the file has no permission to be executed",
        change=f"holdfast run -- python {name}" if python else f"chmod +x {name}",
    )


def _script_named(name: str) -> CommandNotFound:
    if name.endswith(".toml"):
        return CommandNotFound(
            f"{name} is a recipe, not a program", where="the command line", change=f"holdfast train {name}"
        )
    return CommandNotFound(
        f"no program is called {name}, but a file here is",
        where="PATH",
        change=f"holdfast run -- python {name}" if name.endswith(".py") else f"holdfast run -- ./{name}",
    )


def _not_found(name: str, known: Iterable[str]) -> CommandNotFound:
    if os.path.isdir(name):
        return CommandNotFound(
            f"no program is called {name}, but a folder here is",
            where="PATH",
            change="give the program, as in: holdfast run -- python train.py",
        )
    close = nearest(os.path.basename(name), known)
    close = close if close and _is_likely_typo(os.path.basename(name), close) else None
    return CommandNotFound(
        f"there is no program {name}",
        where="PATH" if "/" not in name else os.path.dirname(os.path.abspath(name)),
        found=f"the nearest is {close}" if close else "no program with a similar name",
        change=f"holdfast run -- {close} …" if close else "give the path of the program",
    )


def _is_likely_typo(typed: str, known: str) -> bool:
    """Of all programs of a machine one is always somewhat similar, so only a slip of the keyboard counts."""
    from difflib import SequenceMatcher

    return abs(len(typed) - len(known)) <= 1 and SequenceMatcher(None, typed, known).ratio() >= 0.8


def _programs(path: str) -> set[str]:
    names: set[str] = set()
    for folder in path.split(os.pathsep):
        with contextlib.suppress(OSError):
            names.update(os.listdir(folder or "."))
    return names


def _files_in_folder_of(name: str) -> list[str]:
    try:
        return os.listdir(os.path.dirname(name) or ".")
    except OSError:
        return []


def _first_line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.readline(200).decode(errors="replace").strip()
    except OSError:
        return ""
