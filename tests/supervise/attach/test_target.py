"""Which process can be attached to, and what is said of the others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError, UsageError
from holdfast.supervise.attach.target import AlreadyWatched, CannotAttach, NoSuchProcess, find_target

from .programs import DEADLOCK, READS, running


def refused(pid: int | str) -> HoldfastError:
    with pytest.raises(HoldfastError) as error:
        find_target(str(pid))
    return error.value


def test_a_python_process_is_described(tmp_path: Path) -> None:
    with running(READS, tmp_path) as program:
        target = find_target(str(program.pid))
    assert target.pid == target.trainer == program.pid
    assert target.command[-1] == "train.py"
    assert target.cwd == str(tmp_path)
    assert target.frameworks == ()


def test_below_a_shell_the_python_process_is_meant(tmp_path: Path) -> None:
    with running(READS, tmp_path, "bash", "-c", '"$@"; exit $?', "bash") as program:
        target = find_target(str(program.pid))
        assert target.pid == program.pid
        assert target.trainer != program.pid
        os.kill(target.trainer, 9)


def test_a_word_or_no_word_is_no_process() -> None:
    for word in (None, "train.py", "-3", "0", "99999999999999"):
        with pytest.raises(UsageError):
            find_target(word)


def test_a_process_that_is_not_there_or_has_ended() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    assert isinstance(refused(gone.pid), NoSuchProcess)
    zombie = subprocess.Popen(["true"])
    while Path(f"/proc/{zombie.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    error = refused(zombie.pid)
    assert isinstance(error, NoSuchProcess) and "has ended" in error.what
    zombie.wait()


def test_a_process_that_is_not_python() -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        try:
            error = refused(sleeper.pid)
        finally:
            sleeper.kill()
    assert isinstance(error, CannotAttach) and "is not Python" in error.what
    assert error.where == "sleep 600"


def test_of_several_python_processes_below_a_shell_one_must_be_chosen(tmp_path: Path) -> None:
    both = '"$@" & "$@" & wait'
    (tmp_path / "wait.py").write_text(
        "import os, time; open(f'started-{os.getpid()}', 'x').close(); time.sleep(600)"
    )
    with subprocess.Popen(["bash", "-c", both, "bash", sys.executable, "wait.py"], cwd=tmp_path) as shell:
        try:
            # A child of the shell has the shell's name until it is Python: its own file says that it is.
            while len(started := list(tmp_path.glob("started-*"))) < 2:
                time.sleep(0.05)
            error = refused(shell.pid)
        finally:
            for file in started:
                os.kill(int(file.name.rpartition("-")[2]), 9)
            shell.kill()
    assert isinstance(error, CannotAttach) and "several Python processes" in error.what
    assert len(error.found) == 2


def test_what_holdfast_watches_is_not_watched_twice(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "holdfast", "run", "--run-dir", "r", "--", sys.executable, "train.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as watching:
        try:
            assert watching.stdout is not None and watching.stdout.readline()
            itself = refused(watching.pid)
            children = Path(f"/proc/{watching.pid}/task/{watching.pid}/children").read_text().split()
            python = next(
                int(pid)
                for pid in children
                if Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"train.py\0")
            )
            watched = refused(python)
        finally:
            watching.terminate()
            watching.wait()
    assert isinstance(itself, CannotAttach) and "is Holdfast itself" in itself.what
    assert str(tmp_path / "r") in itself.found[0]
    assert isinstance(watched, AlreadyWatched)
    assert str(tmp_path / "r") in watched.found[0] and str(tmp_path / "r") in watched.change[0]


def test_what_another_holdfast_is_attached_to_is_not_watched_twice(tmp_path: Path) -> None:
    with running(DEADLOCK, tmp_path) as program:
        command = [sys.executable, "-m", "holdfast", "attach", str(program.pid), "--follow", "--run-dir", "r"]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as other:
            try:
                assert other.stdout is not None and other.stdout.readline()
                error = refused(program.pid)
            finally:
                other.terminate()
                other.wait()
    assert isinstance(error, AlreadyWatched) and "is watched already" in error.what


def test_what_started_this_command_with_its_words_is_no_other_watcher(tmp_path: Path) -> None:
    """As sudo and timeout do."""
    with running(DEADLOCK, tmp_path) as program:
        command = ["timeout", "100", sys.executable, "-m", "holdfast", "attach", str(program.pid)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "is watched already" not in done.stderr
    assert f"process {program.pid}" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="gives up root to be another user")
def test_another_users_process_needs_sudo() -> None:
    code = (
        "import os, sys\nfrom holdfast.supervise.attach import target\nfrom holdfast.errors import HoldfastError\n"
        "os.seteuid(65534)\n"
        "try: target.find_target(sys.argv[1])\nexcept HoldfastError as error: print(error.what, error.change)\n"
    )
    with subprocess.Popen(["sleep", "600"]) as roots:
        try:
            said = subprocess.run(
                [sys.executable, "-c", code, str(roots.pid)], capture_output=True, text=True, check=True
            ).stdout
        finally:
            roots.kill()
    assert f"process {roots.pid} belongs to another user, root" in said
    assert f"sudo holdfast attach {roots.pid}" in said
