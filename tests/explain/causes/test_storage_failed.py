"""A disk, a mount or an object store that gives errors of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts


def example(run: Run) -> None:
    run.raised("OSError", "[Errno 5] Input/output error: '/data/train-3.tfrecord'", errno=5)


def near_miss(run: Run) -> None:
    """The terminal was closed: a line that prints ends with the same number."""
    run.raised(
        "OSError", "[Errno 5] Input/output error", errno=5, user_line="train.py:40", user_code="print(loss)"
    )


def test_the_file_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.title.kind, first.title.values) == ("storage-failed", {"path": "/data/train-3.tfrecord"})
    assert [one.kind for one in first.remedies] == ["storage.look-at-device", "storage.copy-elsewhere"]


@pytest.mark.parametrize(
    ("kind", "message", "errno"),
    [
        ("OSError", "[Errno 116] Stale file handle: '/mnt/nfs/a.npy'", 116),
        ("OSError", "[Errno 107] Transport endpoint is not connected: '/mnt/nfs/a.npy'", 107),
        ("UnknownError", "{{function_node x}} /mnt/nfs/a.npy; Stale file handle [Op:ReadFile]", None),
    ],
)
def test_a_mount_whose_server_is_gone(tmp_path: Path, kind: str, message: str, errno: int | None) -> None:
    run = Run(tmp_path / "run")
    run.raised(kind, message, errno=errno)
    first = run.first()
    assert (first.title.kind, first.title.values) == ("storage-failed.gone", {"path": "/mnt/nfs/a.npy"})


def test_a_read_names_no_file_and_the_one_at_hand_is_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("OSError", "[Errno 5] Input/output error", errno=5, paths=["shard-0.bin"])
    assert run.first().title.values == {"path": "shard-0.bin"}


def test_a_socket_that_is_not_connected_is_no_mount(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    frames = ["train.py:9 main", "/usr/lib/python3.11/socket.py:700 getpeername"]
    run.raised("OSError", "[Errno 107] Transport endpoint is not connected", errno=107, frames=frames)
    assert run.slugs() == ["script-error"]


def test_a_failed_save_that_found_another_disk_is_no_fault(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.epochs([100] * 3)
    run.probe(ev.SaveFailed(path="/mnt/usb/a.keras", error="Input/output error", errno=5))
    run.probe(ev.SaveDone(path="home/a.keras", bytes=900_000))
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength, first.ends) == ("storage-failed", Strength.POSSIBLE, False)
    assert facts(first)["save.succeeded-later"] == {"path": "home/a.keras"}


@pytest.mark.parametrize(
    "message",
    [
        "An error occurred (SlowDown) when calling the GetObject operation: Please reduce your rate",
        "503 GET https://storage.googleapis.com/storage/v1/b/runs/o?alt=media: Service Unavailable",
    ],
)
def test_a_server_that_gives_errors(tmp_path: Path, message: str) -> None:
    run = Run(tmp_path / "run")
    run.raised("ClientError", message)
    assert run.first().title.kind == "storage-failed.server"
