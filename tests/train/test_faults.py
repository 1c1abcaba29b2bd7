"""Real faults under `holdfast train`, as a user meets them: each ends in a finished run or a clear verdict.

The full disk is a small file system in memory, the kernel's kill is a real one by a control group, and permissions are
refused to another user: these need root. The clock jumps by a library that is compiled here.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.journal.beats import BeatReader
from holdfast.train.checkpoint import checkpoint_files
from tests.train import shapes

pytestmark = [pytest.mark.hot, pytest.mark.proof, pytest.mark.timeout(3600)]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts file systems and makes control groups")
GROUPS = Path("/sys/fs/cgroup/memory")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shapes.write(tmp_path_factory.mktemp("data") / "shapes", 40)


class Training:
    """`holdfast train` in a process of its own."""

    def __init__(
        self, folder: Path, data: Path, *sets: str, resume: bool = False, steps: int = 12,
        before: Callable[[], None] | None = None, prefix: Sequence[str] = (), **environment: str,
    ) -> None:  # fmt: skip
        settings = {
            "data.validation_fraction": "0.2", "model.input": "64", "train.steps": str(steps), "train.batch": "8",
            "train.checkpoint_every": "4", "train.validate_every": str(steps), "train.deterministic": "true",
        } | dict(one.split("=", 1) for one in sets)  # fmt: skip
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        source = ["--resume"] if resume else [str(data)]
        command = [
            *prefix,
            sys.executable,
            "-m",
            "holdfast",
            "train",
            *source,
            "--run-dir",
            str(folder),
            *words,
        ]
        self.folder, self.log = folder, folder.parent.parent / f"{folder.name}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, preexec_fn=before,
                env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2", "NO_COLOR": "1"} | environment,
            )  # fmt: skip

    def reach(self, step: int) -> Training:
        beats = BeatReader(self.folder / "beats")
        while self.process.poll() is None:
            newest = beats.newest()
            if newest is not None and newest.step >= step:
                return self
            time.sleep(0.01)
        raise AssertionError(self.text())

    def end(self) -> int:
        return self.process.wait(timeout=1800)

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def verdict(self) -> dict[str, Any]:
        command = [sys.executable, "-m", "holdfast", "explain", "--json", str(self.folder)]
        found: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
        return found


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The weights of a run that nothing happened to."""
    run = Training(tmp_path_factory.mktemp("whole") / "runs" / "whole", data)
    assert run.end() == 0, run.text()
    return str(run.verdict()["weights_sha256"])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", "-l", disk], check=False)


def test_sigterm_saves_within_the_grace_and_the_corrupt_newest_is_passed_over(
    data: Path, whole: str, tmp_path: Path
) -> None:
    run = Training(tmp_path / "runs" / "term", data).reach(6)
    run.process.send_signal(signal.SIGTERM)
    assert run.end() == 143, run.text()
    saved = checkpoint_files.committed(run.folder / "checkpoints")
    assert saved[-1].name not in ("step-4", "step-8"), (
        "the state of the moment, not that of the last interval"
    )
    torn = bytearray((saved[-1] / "weights.npz").read_bytes())
    torn[5000] ^= 1
    (saved[-1] / "weights.npz").write_bytes(torn)
    again = Training(run.folder, data, resume=True)
    assert again.end() == 0, again.text()
    assert f"checkpoint {saved[-1].name} is corrupt" in again.text()
    assert again.verdict()["weights_sha256"] == whole


@needs_root
def test_a_full_disk_stops_nothing_and_loses_nothing(data: Path, whole: str, small_disk: Path) -> None:
    run = Training(small_disk / "run", data)
    assert run.end() == 2
    assert run.verdict()["findings"][0]["cause"] == "disk-full"
    assert "the state was saved as" in run.text()
    subprocess.run(["mount", "-o", "remount,size=400m", small_disk], check=True)
    again = Training(small_disk / "run", data, resume=True)
    assert again.end() == 0, again.text()
    assert again.verdict()["weights_sha256"] == whole


def test_a_folder_made_read_only_stops_nothing(data: Path, whole: str, tmp_path: Path) -> None:
    run = Training(tmp_path / "runs" / "locked", data, before=heed_modes, TMPDIR=str(tmp_path)).reach(6)
    folders = (run.folder, run.folder / "checkpoints")
    for folder in folders:
        folder.chmod(0o555)
    assert run.end() == 2, run.text()
    for folder in folders:
        folder.chmod(0o755)
    (kept,) = tmp_path.glob("holdfast-locked-*/step-12")
    assert f"the state was saved as {kept} instead" in " ".join(run.text().split())
    kept.rename(run.folder / "checkpoints" / "step-12")
    again = Training(run.folder, data, resume=True)
    assert again.end() == 0, again.text()
    assert again.verdict()["weights_sha256"] == whole


def heed_modes() -> None:
    """Before the program starts: root too is refused what the modes refuse."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def unmount(disk: Path) -> None:
    """Processes that have just ended may keep it busy for a moment."""
    until = time.monotonic() + 30
    while subprocess.run(["umount", disk], check=False, capture_output=True).returncode:
        assert time.monotonic() < until, "somebody still uses the disk"
        time.sleep(0.2)


@needs_root
@pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="no mkfs.ext4")
def test_a_disk_that_the_kernel_makes_read_only_loses_nothing(data: Path, whole: str, tmp_path: Path) -> None:
    """As after an error of the device; repaired, the run continues from the state that was saved elsewhere."""
    image, disk, elsewhere = tmp_path / "image", tmp_path / "disk", tmp_path / "elsewhere"
    image.touch()
    os.truncate(image, 500 << 20)
    disk.mkdir()
    elsewhere.mkdir()
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    mount = ["mount", "-o", "loop,errors=remount-ro", image, disk]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("no loop devices here")
    try:
        source = subprocess.run(
            ["findmnt", "-no", "SOURCE", disk], capture_output=True, text=True, check=True
        )
        run = Training(disk / "run", data, TMPDIR=str(elsewhere)).reach(6)
        (Path("/sys/fs/ext4") / Path(source.stdout.strip()).name / "trigger_fs_error").write_text("1")
        assert run.end() == 2, run.text()
        assert "holdfast: no verdict: " in run.text()
        (kept,) = elsewhere.glob("holdfast-run-*/step-12")
        assert f"the state was saved as {kept} instead" in " ".join(run.text().split())
        unmount(disk)
        assert subprocess.run(["e2fsck", "-fy", image], capture_output=True, check=False).returncode < 4
        subprocess.run(mount, check=True)
        shutil.move(kept, run.folder / "checkpoints" / "step-12")
        again = Training(run.folder, data, resume=True)
        assert again.end() == 0, again.text()
        assert again.verdict()["weights_sha256"] == whole
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


#: Another user, for whom the first folder above Python that is closed to him is open: it is often root's home.
SOMEBODY = """
if [ "$1" ]; then
  mount -t tmpfs none "$2"
  mkdir "$2/upper" "$2/work"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$1"
  chmod 755 "$1"
fi
shift 2
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
"""
NOBODY = 65534


class Somebody:
    """Starts trainings as another user, who owns `home`."""

    def __init__(self, folder: Path) -> None:
        self.home, overlay = folder / "home", folder / "overlay"
        overlay.mkdir()
        self.home.mkdir()
        os.chown(self.home, NOBODY, NOBODY)
        for above in (folder, *folder.parents):
            if str(above).startswith("/tmp/"):
                above.chmod(0o755)
        needed = (Path(sys.base_prefix), Path(sys.prefix), Path(holdfast.__file__))
        closed = [one for path in needed for one in reversed(path.parents) if not one.stat().st_mode & 1]
        own_mounts = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", SOMEBODY, "sh"]
        self.prefix = [*own_mounts, str(closed[0]) if closed else "", str(overlay)]
        able = [*self.prefix, sys.executable, "-c", "import holdfast, keras"]
        if subprocess.run(able, cwd="/", capture_output=True, check=False).returncode:
            pytest.skip("somebody else cannot start this Python here")

    def train(self, folder: Path, data: Path, *sets: str, resume: bool = False) -> Training:
        return Training(
            folder, data, *sets, resume=resume, prefix=self.prefix, HOME=str(self.home), TMPDIR=str(self.home)
        )


@pytest.fixture
def somebody(tmp_path: Path, data: Path) -> Somebody:
    for above in (data, *data.parents):
        if str(above).startswith("/tmp/"):
            above.chmod(0o755)
    return Somebody(tmp_path)


@needs_root
def test_a_run_folder_that_another_user_takes_over_loses_nothing(
    data: Path, whole: str, somebody: Somebody
) -> None:
    run = somebody.train(somebody.home / "runs" / "taken", data).reach(6)
    folders = (run.folder, run.folder / "checkpoints")
    for folder in folders:
        os.chown(folder, 0, 0)
        folder.chmod(0o755)
    assert run.end() == 2, run.text()
    (kept,) = somebody.home.glob("holdfast-taken-*/step-12")
    assert f"the state was saved as {kept} instead" in " ".join(run.text().split())
    assert kept.stat().st_uid == NOBODY
    for folder in folders:
        os.chown(folder, NOBODY, NOBODY)
    kept.rename(run.folder / "checkpoints" / "step-12")
    again = somebody.train(run.folder, data, resume=True)
    assert again.end() == 0, again.text()
    assert again.verdict()["weights_sha256"] == whole


@needs_root
def test_checkpoints_that_this_user_may_not_read(data: Path, whole: str, somebody: Somebody) -> None:
    """As after a resume by root: the newest is root's own. The one before is used, and the reason is reported."""
    run = somebody.train(somebody.home / "runs" / "mixed", data)
    assert run.end() == 0, run.text()
    saved = checkpoint_files.committed(run.folder / "checkpoints")
    assert [path.name for path in saved] == ["step-4", "step-8", "step-12"]
    for file in saved[-1].iterdir():
        os.chown(file, 0, 0)
        file.chmod(0o600)
    again = somebody.train(run.folder, data, resume=True)
    assert again.end() == 0, again.text()
    assert "checkpoint step-12 is corrupt: SHA256SUMS cannot be read: Permission denied" in again.text()
    assert again.verdict()["weights_sha256"] == whole


def _no_place(home: Path, data: Path) -> tuple[Path, Path]:
    (home / "closed").mkdir()
    return home / "closed" / "run", data


def _another_users_run(home: Path, data: Path) -> tuple[Path, Path]:
    (home / "runs" / "root").mkdir(parents=True)
    return home / "runs" / "root", data


def _annotations(home: Path, data: Path) -> tuple[Path, Path]:
    own = Path(shutil.copytree(data, home / "own"))
    (own / "annotations.json").chmod(0o600)
    return home / "runs" / "run", own


def _image(home: Path, data: Path) -> tuple[Path, Path]:
    own = Path(shutil.copytree(data, home / "own"))
    sorted((own / "images").iterdir())[3].chmod(0o600)
    return home / "runs" / "run", own


@needs_root
@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (_no_place, "error[permission-denied]"),
        (_another_users_run, "error[permission-denied]"),
        (_annotations, "annotations.json: this user may not read the file"),
        (_image, "found   unreadable-image: this user may not read the file"),
    ],
)
def test_what_another_user_may_not_touch_is_named_before_the_first_step(
    data: Path, somebody: Somebody, refused: Callable[[Path, Path], tuple[Path, Path]], said: str
) -> None:
    folder, source = refused(somebody.home, data)
    run = somebody.train(folder, source)
    assert run.end() == 2, run.text()
    assert said in run.text()
    assert "Traceback" not in run.text()
    assert not list(somebody.home.rglob("step-*"))


def test_images_that_vanish_are_named(data: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(data, tmp_path / "own"))
    run = Training(tmp_path / "runs" / "gone", own, steps=40).reach(3)
    for image in sorted((own / "images").iterdir())[:20]:
        image.unlink()
    assert run.end() == 2, run.text()
    assert "error[undecodable-image]" in run.text()
    assert ".png" in run.text().split("error[undecodable-image]")[1]


def test_storage_that_does_not_answer_costs_no_work(data: Path, tmp_path: Path) -> None:
    """The images become pipes that nobody writes to; then somebody asks the run to end."""
    own = Path(shutil.copytree(data, tmp_path / "own"))
    run = Training(tmp_path / "runs" / "stuck", own, "train.checkpoint_every=50", steps=60).reach(3)
    for image in sorted((own / "images").iterdir()):
        image.unlink()
        os.mkfifo(image)
    time.sleep(10)
    run.process.send_signal(signal.SIGTERM)
    assert run.end() == 143, run.text()
    assert "another thread saves step" in run.text()
    assert len(checkpoint_files.committed(run.folder / "checkpoints")) == 1


@needs_root
@pytest.mark.skipif(
    not (GROUPS / "memory.limit_in_bytes").exists(), reason="no control groups of version 1 here"
)
def test_killed_by_the_kernel_it_goes_on_with_less_at_once(data: Path, tmp_path: Path) -> None:
    group = GROUPS / f"holdfast-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(1500 << 20))
        run = Training(
            tmp_path / "runs" / "short", data, "model.input=256", "train.batch=16", "train.deterministic=false",
            steps=4, before=lambda: (group / "cgroup.procs").write_text(str(os.getpid())) and None,
        )  # fmt: skip
        assert run.end() == 0, run.text()
    finally:
        group.rmdir()
    assert "the attempt before this one ran out of memory; micro-batches of 8" in run.text()
    assert run.verdict()["outcome"] == "finished"


JUMPS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, t);
  if (!result && id == CLOCK_REALTIME) t->tv_sec += (t->tv_sec / 4) % 2 ? -3600 : 7200;
  return result;
}
time_t time(time_t *p) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); if (p) *p = t.tv_sec; return t.tv_sec; }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
def test_a_clock_that_jumps_by_hours_changes_nothing(data: Path, whole: str, tmp_path: Path) -> None:
    (tmp_path / "jumps.c").write_text(JUMPS)
    library = tmp_path / "jumps.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "jumps.c", "-ldl"], check=True)
    run = Training(tmp_path / "runs" / "clock", data, LD_PRELOAD=str(library))
    assert run.end() == 0, run.text()
    assert "stalled" not in run.text()
    assert run.verdict()["weights_sha256"] == whole
