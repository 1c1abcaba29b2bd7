"""A file that another process locked, a file system without locks, a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explain.made import Run, native, remedies


def example(run: Run) -> None:
    run.raised(
        "BlockingIOError",
        "[Errno 11] Unable to synchronously open file (unable to lock file, errno = 11, error message = "
        "'Resource temporarily unavailable') 'best.weights.h5'",
        errno=11,
    )


def near_miss(run: Run) -> None:
    run.raised("RuntimeError", "can't start new thread: Resource temporarily unavailable")


@pytest.mark.parametrize(
    ("kind", "message", "title", "remedy"),
    [
        ("OperationalError", "database is locked", "file-locked.database", "database.close-the-other"),
        ("OSError", "[Errno 37] unable to lock file 'a.h5', errno = 37, 'No locks available'",
         "file-locked.not-supported", "file.end-the-other-process"),
        ("BlockingIOError", "[Errno 11] unable to lock file, errno = 11 'a.h5'", "file-locked",
         "file.end-the-other-process"),
    ],
)  # fmt: skip
def test_who_holds_the_lock(tmp_path: Path, kind: str, message: str, title: str, remedy: str) -> None:
    run = Run(tmp_path / "run")
    run.raised(kind, message)
    assert run.first().title.kind == title
    assert remedies(run.first())[0] == remedy


def test_the_file_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().title.values == {"file": "best.weights.h5"}


def test_a_run_that_waits_for_the_lock(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.stalled("", native(main=True, wait="locks_lock_inode_wait", syscall="flock fd=3 (/data/index.lock)"))
    assert (run.first().cause, run.first().title.kind) == ("file-locked", "file-locked.waits")
    assert run.first().title.values == {"file": "/data/index.lock"}
