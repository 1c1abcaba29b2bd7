"""The little world around one program: a work folder, control groups, a small disk, limits, a standard input."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .trials import FAULTY, Trial, World

CONTROL = Path("/sys/fs/cgroup")


class CannotMake(Exception):
    """This machine cannot make the world that a program needs."""


@contextlib.contextmanager
def work_folder(trial: Trial, *, renamed: str = "") -> Iterator[tuple[Path, Path]]:
    """A folder of its own with a copy of the program in it; both are yielded."""
    folder = Path(tempfile.mkdtemp(prefix="zoo-"))
    small, shared = folder / "small", Path("/dev/shm") / folder.name
    try:
        program = folder / (renamed or trial.program.name.replace(".near", "_near"))
        shutil.copy(trial.program, program)
        for helper in FAULTY.glob("own_*.py"):
            shutil.copy(helper, folder)
        size = trial.world.tmpfs_mib or trial.world.shm_mib
        if trial.world.shm_mib:
            shared.mkdir()
            small.symlink_to(shared)
        elif size:
            small.mkdir()
        if size:
            _do("mount", "-t", "tmpfs", "-o", f"size={size}m", "zoo", str(small.resolve()))
        yield folder, program
    finally:
        if os.path.ismount(small.resolve()):
            subprocess.run(["umount", "-l", str(small.resolve())], check=False)
        with contextlib.suppress(FileNotFoundError):
            shared.rmdir()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def control_groups(world: World, name: str) -> Iterator[list[Path]]:
    """The groups that the command is to join; they are removed, with what is left in them, at the end."""
    with contextlib.ExitStack() as stack:
        groups = []
        if world.memory_mib:
            group = stack.enter_context(_group("memory", name))
            (group / "memory.limit_in_bytes").write_text(str(world.memory_mib << 20))
            groups.append(group)
        if world.pids:
            group = stack.enter_context(_group("pids", name))
            (group / "pids.max").write_text(str(world.pids))
            groups.append(group)
        if world.read_mib_s:
            group = stack.enter_context(_group("blkio", name))
            device = os.stat(tempfile.gettempdir()).st_dev
            rule = f"{os.major(device)}:{os.minor(device)} {world.read_mib_s << 20}"
            (group / "blkio.throttle.read_bps_device").write_text(rule)
            groups.append(group)
        yield groups


@contextlib.contextmanager
def _group(controller: str, name: str) -> Iterator[Path]:
    group = CONTROL / controller / f"holdfast-zoo-{name}"
    try:
        group.mkdir()
    except OSError as error:
        raise CannotMake(f"no control group of its own under {CONTROL / controller}: {error}") from error
    try:
        yield group
    finally:
        for _ in range(50):
            for pid in (group / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), 9)
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


@contextlib.contextmanager
def standard_input(kind: str) -> Iterator[int]:
    if kind == "null":
        with open(os.devnull) as nothing:
            yield nothing.fileno()
    else:
        ours, theirs = pty.openpty() if kind == "terminal" else os.pipe()[::-1]
        try:
            yield theirs
        finally:
            os.close(ours)
            os.close(theirs)


@contextlib.contextmanager
def swap_space(mib: int | None) -> Iterator[None]:
    if not mib:
        yield
        return
    file = Path(tempfile.gettempdir()) / f"holdfast-zoo-swap-{os.getpid()}"
    with file.open("wb") as out:
        os.posix_fallocate(out.fileno(), 0, mib << 20)
    file.chmod(0o600)
    try:
        _do("mkswap", str(file))
        _do("swapon", str(file))
        yield
    finally:
        _take_off(file)
        file.unlink()


def _take_off(file: Path) -> None:
    """The kernel refuses while what was swapped out finds no room; the program that needed it has just ended."""
    for _ in range(20):
        if subprocess.run(["swapoff", str(file)], check=False, capture_output=True).returncode == 0:
            return
        time.sleep(1.0)
    raise RuntimeError(f"swap cannot be taken off again: swapoff {file}")


def entering(groups: list[Path], limits: dict[str, int]) -> list[str]:
    """The words to put before a command so that it starts inside the groups and under the limits."""
    lines = [f"echo $$ > {group}/cgroup.procs" for group in groups]
    lines += [f"ulimit -{letter} {value}" for letter, value in limits.items()]
    return ["bash", "-c", "\n".join([*lines, 'exec "$@"']), "bash"] if lines else []


def _do(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise CannotMake(f"{' '.join(command[:2])}: {done.stderr.strip()}")
