"""What this user may not read or write, and a file system that is mounted read-only."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts


def example(run: Run) -> None:
    run.raised("PermissionError", "[Errno 13] Permission denied: '/data/out/best.keras'", errno=13)


def near_miss(run: Run) -> None:
    run.raised("RuntimeError", "the licence does not permit this")


def test_the_path_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"path": "/data/out/best.keras"}
    assert first.remedies[0].kind == "path.change-permissions"


def test_a_script_that_may_not_be_read_is_there(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.output("python: can't open file '/home/me/train.py': [Errno 13] Permission denied\n")
    run.ended(2)
    assert run.slugs() == ["permission-denied"]


def test_a_file_system_that_is_read_only_is_no_matter_of_permissions(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("OSError", "[Errno 30] Read-only file system: 'mnt/best.keras'", errno=30)
    first = run.first()
    assert (first.title.kind, first.title.values) == (
        "permission-denied.read-only",
        {"path": "mnt/best.keras"},
    )
    assert first.remedies[0].values == {"folder": "mnt"}


def test_a_save_that_found_another_place_is_no_fault(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.epochs([100] * 3)
    run.probe(ev.SaveFailed(path="/root/a.keras", error="Permission denied", errno=13))
    run.probe(ev.SaveDone(path="home/a.keras", bytes=900_000))
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength, first.ends) == ("permission-denied", Strength.POSSIBLE, False)
    assert facts(first)["save.succeeded-later"] == {"path": "home/a.keras"}


def test_words_in_the_log_of_a_stalled_run_are_not_why_it_stalls(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.output("matplotlib: Permission denied: '/root/.config/matplotlib', using /tmp\n")
    run.stalled("step")
    run.stopped()
    assert "permission-denied" not in run.blamed()


@pytest.mark.parametrize(
    ("kind", "message", "of"),
    [
        ("NoCredentialsError", "Unable to locate credentials", "amazon"),
        ("ClientError", "An error occurred (ExpiredToken) when calling the GetObject operation: …", "amazon"),
        ("DefaultCredentialsError", "not found. See https://cloud.google.com/x", "google"),
        ("RefreshError", "('invalid_grant: Token has been expired or revoked.', {})", ""),
        ("HttpError", "Invalid Credentials, 401", ""),
        ("GatedRepoError", "401 Client Error. (Request ID: R) Cannot access gated repo", "huggingface"),
    ],
)  # fmt: skip
def test_credentials_that_are_not_accepted(tmp_path: Path, kind: str, message: str, of: str) -> None:
    run = Run(tmp_path / "run")
    run.raised(kind, message)
    first = run.first()
    assert (first.cause, first.title.kind) == ("permission-denied", "permission-denied.credentials")
    assert first.remedies[0].values == {"of": of}


@pytest.mark.parametrize(
    ("kind", "message", "address"),
    [
        ("ClientError", "An error occurred (AccessDenied) when calling PutObject: s3://runs/a", "s3://runs/a"),
        ("ClientError", "An error occurred (403) when calling the HeadObject operation: Forbidden", ""),
        ("OSError", "Forbidden: https://storage.googleapis.com/o?x=1\nno", "https://storage.googleapis.com/o"),
        ("HttpResponseError", "This request is not authorized. ErrorCode:AuthorizationPermissionMismatch", ""),
    ],
)  # fmt: skip
def test_credentials_that_may_not_do_this(tmp_path: Path, kind: str, message: str, address: str) -> None:
    run = Run(tmp_path / "run")
    run.raised(kind, message)
    assert (run.first().title.kind, run.first().title.values) == (
        "permission-denied.bucket",
        {"address": address},
    )


def test_digits_of_an_address_are_no_status(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("ClientError", "An error occurred (NoSuchKey) when calling GetObject on http://h:33401/b/403")
    assert run.slugs() == ["path-missing"]
