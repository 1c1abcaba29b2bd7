"""Disks that are full from the start, or that the kernel makes read-only: no false verdict, the right exit code."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.supervise.running import python, run
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="small file systems are mounted, which only root may do"
)

WAIT_FOR_END = "import time\nwhile True: time.sleep(0.1)"
NO_VERDICT = "holdfast: no verdict: disk/r/journal.jsonl could not be written, and does not have the end"


def mounted(folder: Path, *words: str) -> Iterator[Path]:
    folder.mkdir()
    if subprocess.run(["mount", *words, str(folder)], check=False, capture_output=True).returncode:
        pytest.skip("this file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    yield from mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=1m", "tmpfs")


def fill(disk: Path) -> None:
    with (disk / "rest").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(b"x" * 4096)


@pytest.fixture
def real_disk(tmp_path: Path) -> Iterator[Path]:
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, 20 << 20)
    if (
        not shutil.which("mkfs.ext4")
        or subprocess.run(["mkfs.ext4", "-q", str(image)], check=False).returncode
    ):
        pytest.skip("there is no mkfs.ext4")
    yield from mounted(tmp_path / "disk", "-o", "loop,errors=remount-ro", str(image))


def test_a_disk_that_is_full_from_the_start(small_disk: Path) -> None:
    (small_disk / "r").mkdir()
    fill(small_disk)
    done = run("--run-dir", "disk/r", *python("raise SystemExit(7)"), cwd=small_disk.parent)
    assert done.returncode == 7
    assert done.stderr.count("monitoring failed (journal: OSError: [Errno 28]") == 1
    assert "ended with exit code 7" in done.stderr
    assert done.stderr.splitlines()[-1] == NO_VERDICT


def test_a_disk_that_the_kernel_makes_read_only(real_disk: Path) -> None:
    """As after an error of the device: files that are open already take no more writes either."""
    source = subprocess.run(
        ["findmnt", "-no", "SOURCE", str(real_disk)], capture_output=True, text=True, check=True
    )
    trigger = Path("/sys/fs/ext4") / Path(source.stdout.strip()).name / "trigger_fs_error"
    code = f"print(1, flush=True)\nopen({str(trigger)!r}, 'w').write('1')\nprint(2)\nraise SystemExit(8)"
    done = run("--run-dir", "disk/r", *python(code), cwd=real_disk.parent)
    assert (done.returncode, done.stdout) == (8, "1\n2\n")
    assert "monitoring failed (journal: OSError: [Errno 30] Read-only file system)" in done.stderr
    assert "ended with exit code 8" in done.stderr
    assert done.stderr.splitlines()[-1] == NO_VERDICT


def test_a_disk_that_fills_while_a_process_is_attached_to(small_disk: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WAIT_FOR_END]) as process:
        words = ["attach", str(process.pid), "--follow", "--run-dir", "disk/r"]
        attached = subprocess.Popen(
            [sys.executable, "-m", "holdfast", *words],
            cwd=small_disk.parent,
            stderr=subprocess.PIPE,
            text=True,
        )
        journal = small_disk / "r/journal.jsonl"
        until(lambda: journal.exists() and b'"process_observed"' in journal.read_bytes(), "the first look")
        fill(small_disk)
        with (
            contextlib.suppress(OSError),
            journal.open("ab", buffering=0) as file,
        ):  # it may just have filled it
            file.write(b"\n" * (-journal.stat().st_size % 4096))  # what is left of its page
        process.terminate()
        _, said = attached.communicate(timeout=PATIENCE_S)
    assert said.splitlines()[-1] == NO_VERDICT, said
