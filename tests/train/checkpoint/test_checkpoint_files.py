"""Checkpoints on a real disk: complete or absent, damage found, the one before used, a full disk survived."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import BEST, LATEST, CorruptCheckpoint, Snapshot


def snapshot(step: int, side: int = 4) -> Snapshot:
    rng = np.random.default_rng(step)
    weights = {
        "block/conv/kernel": rng.normal(size=(side, side)).astype(np.float32),
        "empty": np.zeros((0, 3)),
    }
    optimizer = {"count": np.array(step, np.int64), "flags": np.array([True, False])}
    return Snapshot(
        step, {"weights": weights, "optimizer": optimizer}, {"loss": 0.1 + step / 3, "name": "naïve"}
    )


def equal(one: Snapshot, other: Snapshot) -> bool:
    return one.meta == other.meta and checkpoint_files.digest_of(one.groups) == checkpoint_files.digest_of(
        other.groups
    )


def test_what_is_written_comes_back_to_the_bit(tmp_path: Path) -> None:
    path = checkpoint_files.write(tmp_path, snapshot(7))
    assert path == tmp_path / "step-7"
    assert equal(checkpoint_files.read(path), snapshot(7))
    assert checkpoint_files.read(path).step == 7
    assert sorted(file.name for file in path.iterdir()) == [
        "SHA256SUMS",
        "meta.json",
        "optimizer.npz",
        "weights.npz",
    ]
    assert checkpoint_files.read_pointer(tmp_path, LATEST) == path
    assert checkpoint_files.read_pointer(tmp_path, BEST) is None
    only = checkpoint_files.read(path, groups=("weights",))
    assert list(only.groups) == ["weights"]


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs coreutils")
def test_anybody_can_check_the_sums(tmp_path: Path) -> None:
    path = checkpoint_files.write(tmp_path, snapshot(1))
    assert subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=path).returncode == 0


DAMAGE = {
    "a bit flipped in an array": ("weights.npz", "another checksum"),
    "a file cut short": ("optimizer.npz", "another checksum"),
    "a file gone": ("weights.npz", "cannot be read"),
    "facts changed": ("meta.json", "another checksum"),
    "sums gone": ("SHA256SUMS", "missing"),
    "sums emptied": ("SHA256SUMS", "does not list meta.json"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_found_and_the_one_before_is_taken(what: str, tmp_path: Path) -> None:
    for step in (9, 10, 100):
        checkpoint_files.write(tmp_path, snapshot(step))
    name, why = DAMAGE[what]
    file = tmp_path / "step-100" / name
    content = bytearray(file.read_bytes())
    if what.endswith("gone"):
        file.unlink()
    elif what.endswith("cut short"):
        file.write_bytes(content[:-7])
    elif what.endswith("emptied"):
        file.write_bytes(b"")
    else:
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    found, rejected = checkpoint_files.newest_complete(tmp_path)
    assert found is not None
    assert equal(found, snapshot(10))
    assert [(one.path.name, why in one.reason) for one in rejected] == [("step-100", True)]


def test_nothing_whole_says_so_for_each(tmp_path: Path) -> None:
    assert checkpoint_files.newest_complete(tmp_path / "absent") == (None, [])
    for step in (1, 2):
        checkpoint_files.write(tmp_path, snapshot(step))
        (tmp_path / f"step-{step}" / "weights.npz").unlink()
    found, rejected = checkpoint_files.newest_complete(tmp_path)
    assert found is None
    assert [one.path.name for one in rejected] == ["step-2", "step-1"]


def test_a_half_written_one_is_never_seen(tmp_path: Path) -> None:
    checkpoint_files.write(tmp_path, snapshot(3))
    shutil.copytree(tmp_path / "step-3", tmp_path / "step-4.part")
    shutil.copytree(tmp_path / "step-3", tmp_path / "step-2.old")
    (tmp_path / "step-x").mkdir()
    assert [path.name for path in checkpoint_files.committed(tmp_path)] == ["step-3"]
    checkpoint_files.prune(tmp_path, keep=3, written=99)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step-3", "step-x"]


def test_one_of_the_same_step_is_replaced(tmp_path: Path) -> None:
    checkpoint_files.write(tmp_path, snapshot(5))
    (tmp_path / "step-5" / "meta.json").write_text("{}")
    checkpoint_files.write(tmp_path, snapshot(5))
    assert equal(checkpoint_files.read(tmp_path / "step-5"), snapshot(5))
    assert not [*tmp_path.glob("*.old"), *tmp_path.glob("*.was")]


def test_killed_while_one_of_the_same_step_is_replaced_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the old one's loss of its name and the new one's getting it."""
    checkpoint_files.write(tmp_path, snapshot(7))
    real, renamed = Path.rename, []

    def rename(self: Path, target: Path) -> Path:
        if renamed:
            raise KeyboardInterrupt
        renamed.append(target)
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        checkpoint_files.write(tmp_path, snapshot(7))
    monkeypatch.undo()
    assert not (tmp_path / "step-7").exists()
    checkpoint_files.recover(tmp_path)
    assert equal(checkpoint_files.read(tmp_path / "step-7"), snapshot(7))
    checkpoint_files.prune(tmp_path, keep=3, written=99)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step-7"]


def test_what_made_way_goes_once_the_new_one_is_there(tmp_path: Path) -> None:
    shutil.copytree(checkpoint_files.write(tmp_path, snapshot(7)), tmp_path / "step-7.was")
    checkpoint_files.recover(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step-7"]


def test_the_newest_and_the_best_are_kept(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4, 10):
        checkpoint_files.write(tmp_path, snapshot(step))
    checkpoint_files.set_pointer(tmp_path, BEST, "step-2")
    checkpoint_files.prune(tmp_path, keep=2, written=99)
    assert [path.name for path in checkpoint_files.committed(tmp_path)] == ["step-2", "step-4", "step-10"]
    assert checkpoint_files.superseded([1, 2, 3], keep=5, best=None) == []


def test_the_digest_depends_on_names_types_shapes_and_bits() -> None:
    base = {"weights": {"a": np.zeros((2, 3), np.float32), "b": np.zeros(1)}}
    same_other_order = {"weights": {"b": np.zeros(1), "a": np.zeros((2, 3), np.float32)}}
    assert checkpoint_files.digest_of(base) == checkpoint_files.digest_of(same_other_order)
    others = [
        {"weights": {"a": np.zeros((3, 2), np.float32), "b": np.zeros(1)}},
        {"weights": {"a": np.zeros((2, 3), np.int32), "b": np.zeros(1)}},
        {"weights": {"a": np.zeros((2, 3), np.float32), "c": np.zeros(1)}},
        {"weights": {"a": np.full((2, 3), -0.0, np.float32), "b": np.zeros(1)}},
    ]
    assert len({checkpoint_files.digest_of(one) for one in [base, *others]}) == 5


# -- in the background ------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_leaves_no_part_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint_files.write(tmp_path, snapshot(1))
    real_open = Path.open

    def full(path: Path, *args: object, **options: object) -> object:
        if path.name == "optimizer.npz" and args and args[0] == "wb":
            return open("/dev/full", "wb")
        return real_open(path, *args, **options)  # type: ignore[arg-type, call-overload]

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError) as caught:
        checkpoint_files.write(tmp_path, snapshot(2))
    assert caught.value.errno == errno.ENOSPC
    assert [path.name for path in tmp_path.glob("step-*")] == ["step-1"]


KILLED = """
import sys, numpy as np
from pathlib import Path
from holdfast.train.checkpoint import checkpoint_files
folder, step = Path(sys.argv[1]), 0
while True:
    step += 1
    array = np.full((512, 512), step, np.float32)
    checkpoint_files.write(folder, checkpoint_files.Snapshot(step, {"weights": {"a": array}}, {"step": step}))
    checkpoint_files.prune(folder, keep=2, written=step)
    print(step, flush=True)
"""


def test_killed_while_saving_leaves_a_whole_one(tmp_path: Path) -> None:
    for _ in range(4):
        child = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        said = int([child.stdout.readline() for _ in range(7)][-1])
        child.kill()
        said = max([said, *(int(line) for line in child.stdout.read().splitlines())])
        child.wait()
        found, rejected = checkpoint_files.newest_complete(tmp_path)
        assert found is not None
        assert rejected == []
        assert found.step >= said, "what was reported as saved is there"
        assert np.all(found.groups["weights"]["a"] == found.step)
        assert found.meta == {"step": found.step}
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()


def test_reading_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CorruptCheckpoint, match="SHA256SUMS is missing"):
        checkpoint_files.read(tmp_path)
    (tmp_path / "SHA256SUMS").write_text(json.dumps({}))
    with pytest.raises(CorruptCheckpoint):
        checkpoint_files.read(tmp_path)


def with_right_sums(path: Path, more: str = "") -> None:
    names = [file.name for file in path.iterdir() if file.name != "SHA256SUMS"]
    sums = "".join(f"{hashlib.sha256((path / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    (path / "SHA256SUMS").write_text(sums + more)


@pytest.mark.parametrize("name", ["../outside.npz", "a\0b.npz", "notes.txt", "/etc/passwd"])
def test_sums_that_list_what_is_no_file_of_a_checkpoint(name: str, tmp_path: Path) -> None:
    checkpoint_files.write(tmp_path, snapshot(2))
    path = checkpoint_files.write(tmp_path, snapshot(3))
    np.savez(tmp_path / "outside.npz", a=np.ones(3))
    (path / "notes.txt").write_text("")
    digest = hashlib.sha256((tmp_path / "outside.npz").read_bytes()).hexdigest()
    with_right_sums(path, f"{digest}  {name}\n")
    found, rejected = checkpoint_files.newest_complete(tmp_path)
    assert found is not None
    assert equal(found, snapshot(2))
    assert [one.reason for one in rejected] == ["SHA256SUMS lists what is no file of a checkpoint"]


def test_what_is_no_array_is_no_group(tmp_path: Path) -> None:
    """numpy returns the bytes of a member that is no array."""
    path = checkpoint_files.write(tmp_path, snapshot(3))
    with zipfile.ZipFile(path / "weights.npz", "a") as archive:
        archive.writestr("more.npy", b"hello")
    with_right_sums(path)
    with pytest.raises(CorruptCheckpoint, match=r"weights\.npz holds something else than arrays"):
        checkpoint_files.read(path)


def test_a_kill_before_a_pointer_is_renamed_leaves_nothing_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(os, "replace", lambda *names: os._exit(77))
        checkpoint_files.set_pointer(tmp_path, BEST, "step-3")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77
    assert len(list(tmp_path.glob(".best.*"))) == 1
    checkpoint_files.write(tmp_path, snapshot(4))
    checkpoint_files.prune(tmp_path, keep=2, written=4)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step-4"]


def test_a_note_that_is_no_text_names_nothing(tmp_path: Path) -> None:
    (tmp_path / checkpoint_files.BEST).write_bytes(b"\xff\xfe\x00step")
    assert checkpoint_files.read_pointer(tmp_path, checkpoint_files.BEST) is None


def test_a_kill_before_the_pointer_to_the_best_is_repaired(tmp_path: Path) -> None:
    for step in (2, 5):
        checkpoint_files.write(tmp_path, snapshot(step))
    checkpoint_files.set_pointer(tmp_path, BEST, "step-2")
    checkpoint_files.restore_pointer(tmp_path, BEST, 5)
    assert checkpoint_files.read_pointer(tmp_path, BEST) == tmp_path / "step-5"
    checkpoint_files.restore_pointer(tmp_path, BEST, 9)  # which is not there
    assert checkpoint_files.read_pointer(tmp_path, BEST) == tmp_path / "step-5"
