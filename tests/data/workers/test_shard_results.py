"""Finished shards of a job that was killed."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path

import pytest

from holdfast.data.workers.shard_results import KEPT_S, URL_S, ShardResults


def results_in(folder: Path, name: str = "check voc /data") -> ShardResults:
    return ShardResults(name, lambda result: [result[0]], folder=folder)


def stored(folder: Path) -> Path:
    (file,) = (path for path in folder.rglob("*") if path.is_file())
    return file


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "a.jpg"
    path.write_bytes(b"one")
    return path


def test_a_shard_is_found_by_its_items_and_its_job(tmp_path: Path, image: Path) -> None:
    found = [(str(image), 3)]
    results_in(tmp_path / "shards").write(["a"], found)
    again = results_in(tmp_path / "shards")
    assert again.read(["a"]) == found
    assert again.reused == 1
    assert again.read(["b"]) is None
    assert results_in(tmp_path / "shards", "check coco /data").read(["a"]) is None
    again.remove()
    assert again.read(["a"]) is None


def test_a_shard_counts_only_while_its_files_are_as_they_were(tmp_path: Path, image: Path) -> None:
    results = results_in(tmp_path / "shards")
    results.write(["a"], [(str(image), 3)])
    image.write_bytes(b"another")
    assert results.read(["a"]) is None
    image.unlink()
    assert results.read(["a"]) is None


def test_a_shard_that_was_cut_off_is_done_again(tmp_path: Path, image: Path) -> None:
    results = results_in(tmp_path / "shards")
    results.write(["a"], [(str(image), 3)])
    file = stored(tmp_path / "shards")
    file.write_bytes(file.read_bytes()[:-3])
    assert results.read(["a"]) is None


def test_of_a_bucket_a_shard_counts_for_some_hours(tmp_path: Path) -> None:
    results = results_in(tmp_path / "shards")
    results.write(["a"], [("gs://data/a.jpg", 3)])
    assert results.read(["a"]) == [("gs://data/a.jpg", 3)]
    before = time.time() - URL_S - 60
    os.utime(stored(tmp_path / "shards"), (before, before))
    assert results.read(["a"]) is None


def test_what_nobody_finished_is_removed_after_a_week(tmp_path: Path, image: Path) -> None:
    results_in(tmp_path / "shards").write(["a"], [(str(image), 3)])
    (folder,) = (tmp_path / "shards").iterdir()
    before = time.time() - KEPT_S - 60
    os.utime(folder, (before, before))
    results_in(tmp_path / "shards", "another")
    assert not folder.exists()


class Planted:
    """A pickle that creates a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_a_shard_that_another_user_may_have_written_is_not_read(tmp_path: Path, image: Path) -> None:
    """A cache may be shared by the users of a cluster, and reading a pickle executes it."""
    results, proof = results_in(tmp_path / "shards"), tmp_path / "executed"
    results.write(["a"], [(str(image), 3)])
    file = stored(tmp_path / "shards")
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(pickle.dumps(Planted(proof)))
    file.chmod(0o620)
    assert results.read(["a"]) is None
    file.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(file, 65534, 65534)
        assert results.read(["a"]) is None
        os.chown(file, 0, 0)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert results.read(["a"]) is None
    assert not proof.exists()
