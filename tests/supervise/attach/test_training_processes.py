"""Training processes that nobody watches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from holdfast.supervise.attach import training_processes

from .programs import READS, WITH_FRAMEWORK, running


def unwatched() -> dict[int, training_processes.TrainingProcess]:
    return {one.pid: one for one in training_processes.unwatched()}


def test_a_process_with_a_frameworks_library_trains(tmp_path: Path) -> None:
    with running(WITH_FRAMEWORK, tmp_path / "a") as training, running(READS, tmp_path / "b") as other:
        found = unwatched()
        assert training.pid in found and other.pid not in found
        assert found[training.pid].frameworks == ("tensorflow",)
        assert found[training.pid].command.endswith("train.py")
        assert found[training.pid].uptime_s < 600
        assert training_processes.watcher_of(training.pid) is None


def test_of_a_tree_the_topmost_is_listed(tmp_path: Path) -> None:
    twice = "import os\npid = os.fork()\n" + WITH_FRAMEWORK.replace("print(", "pid and print(")
    with running(twice, tmp_path) as training:
        found = [pid for pid, one in unwatched().items() if one.command.endswith("train.py")]
        (child,) = [
            int(pid) for pid in Path(f"/proc/{training.pid}/task/{training.pid}/children").read_text().split()
        ]
        assert training.pid in found and child not in found


def test_what_holdfast_runs_is_watched(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(WITH_FRAMEWORK)
    command = [sys.executable, "-m", "holdfast", "run", "--run-dir", "r", "--", sys.executable, "train.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as watching:
        try:
            assert watching.stdout is not None and watching.stdout.readline() == b"ready\n"
            below = Path(f"/proc/{watching.pid}/task/{watching.pid}/children").read_text().split()
            assert not {int(pid) for pid in below} & unwatched().keys()
            watchers = [training_processes.watcher_of(int(pid)) for pid in below]
            assert {one.pid for one in watchers if one is not None} == {watching.pid}
        finally:
            watching.terminate()
            watching.wait()


def test_words_that_only_look_like_holdfast() -> None:
    is_holdfast = training_processes.is_holdfast
    assert is_holdfast(["python", "-m", "holdfast", "run", "--", "python", "train.py"])
    assert is_holdfast(["/venv/bin/python", "/venv/bin/holdfast", "attach", "12"])
    assert is_holdfast(["python", "-m", "holdfast.supervise.companion", "12", "runs/a"])
    assert not is_holdfast(["python", "-m", "holdfast.train", "recipe.toml"])
    assert not is_holdfast(["vim", "holdfast"])
    assert not is_holdfast(["python", "train.py", "--name", "holdfast"])
