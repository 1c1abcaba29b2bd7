"""A table of mistakes: each is committed through the real code, and its error is compared with a stored text."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.cli.main import main
from holdfast.errors import HoldfastError
from holdfast.report.text import render_error
from tests.waiting import PATIENCE_S

#: Shown instead of the temporary folder. Both have 16 characters, so that lines are folded at the same places.
PROJECT = "/home/me/project"
_FIRST_LINE = re.compile(r"^error\[([a-z0-9-]+)\]: ", re.MULTILINE)


class Printed(NamedTuple):
    """What a process of its own printed on standard error."""

    text: str


#: Called in an empty folder. Prepares the mistake and returns a command line for `holdfast`, or what a process
#: printed, or raises the error.
Commit = Callable[[], str | Printed]


class Mistake(NamedTuple):
    name: str
    slug: str
    commit: Commit
    hide: Mapping[str, str]  # patterns of what differs between machines, and what to show instead


class Mistakes(dict[str, Mistake]):
    def add(self, slug: str, *, hide: Mapping[str, str] | None = None) -> Callable[[Commit], Commit]:
        """Enters the decorated function under its own name, with dashes."""

        def enter(commit: Commit) -> Commit:
            name = commit.__name__.replace("_", "-")
            assert name not in self
            self[name] = Mistake(name, slug, commit, hide or {})
            return commit

        return enter

    def parametrize(self) -> pytest.MarkDecorator:
        return pytest.mark.parametrize("mistake", list(self.values()), ids=list(self))


def error_of(mistake: Mistake, capfd: pytest.CaptureFixture[str]) -> str:
    """The error that the user sees, without what differs between machines."""
    with _project() as folder:
        text = _committed(mistake.commit, capfd).replace(str(folder), PROJECT)
    for pattern, shown in mistake.hide.items():
        text = re.sub(pattern, shown, text)
    found = _FIRST_LINE.search(text)
    assert found and found[1] == mistake.slug, text
    return text[found.start() :].rstrip("\n")


def _committed(commit: Commit, capfd: pytest.CaptureFixture[str]) -> str:
    try:
        made = commit()
    except HoldfastError as error:
        return render_error(error)
    if isinstance(made, Printed):
        return made.text
    capfd.readouterr()
    assert main(made.split()) > 0
    return capfd.readouterr().err


@contextlib.contextmanager
def _project() -> Iterator[Path]:
    before, user = Path.cwd(), os.geteuid()
    folder = Path(tempfile.mkdtemp(prefix="hf-", dir="/tmp"))
    assert len(str(folder)) == len(PROJECT)
    folder.chmod(0o755)
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.seteuid(user)
        os.chdir(before)
        shutil.rmtree(folder)


def as_another_user() -> None:
    """Until the mistake is over: root may read and write everything."""
    if os.geteuid() == 0:
        os.seteuid(65534)


def python(*words: str, environment: Mapping[str, str] | None = None, stdout: int | None = None) -> Printed:
    """Runs Python in a process of its own."""
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, **(environment or {})}, text=True, timeout=5 * PATIENCE_S,
        stdout=subprocess.PIPE if stdout is None else stdout, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert done.returncode, done.stdout
    return Printed(done.stderr)


def write(files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
