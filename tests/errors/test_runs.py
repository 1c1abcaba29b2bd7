"""Mistakes with run folders: one that exists, one that does not, one that cannot be written or resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import settings
from holdfast.board.board_memory import BoardMemory
from holdfast.cli.damaged_run import reading_run
from holdfast.journal import events as ev
from tests.errors.mistakes import Mistake, Mistakes, Printed, as_another_user, error_of, python, write
from tests.explain import learning_runs
from tests.explain.made import Run

MISTAKES = Mistakes()

JOURNAL = {"at": 1.0, "mono": 1.0, "by": "supervisor", "pid": 1, "attempt": 1, "kind": "run_opened"}


def earlier_run(name: str) -> None:
    """With a checkpoint, as far as a command reads it before the trainer starts."""
    write({"images/readme.md": "", f"{name}/journal.jsonl": "", f"{name}/checkpoints/step-3/meta.json": ""})
    recipe = settings.resolve({"data": {"train": "images"}, "train": {"batch": 8}})
    write({f"{name}/recipe.toml": settings.to_toml(recipe)})


@MISTAKES.add("board-memory-damaged")
def list_of_archived_runs_that_is_not_json() -> str:
    write({"state/board.json": "{"})
    BoardMemory(Path("state/board.json")).archive(["runs/a"], back=False, now=1.0)
    raise AssertionError


@MISTAKES.add("damaged-run", hide={r"\(at .*?\)": "(at …)"})
def records_of_a_run_with_a_value_of_another_kind() -> str:
    with reading_run(Path("runs/a")):
        float("many")
    raise AssertionError


@MISTAKES.add("already-there")
def run_folder_of_an_earlier_run() -> str:
    earlier_run("runs/a")
    return "train images --run-dir runs/a"


@MISTAKES.add("already-there")
def report_over_another_file() -> str:
    earlier_run("runs/a")
    write({"notes.html": "<p>mine</p>"})
    return "report runs/a -o notes.html"


@MISTAKES.add("path-missing")
def run_misspelt() -> str:
    earlier_run("runs/train-1")
    return "explain runs/tarin-1"


@MISTAKES.add("not-a-run")
def folder_that_is_not_a_run() -> str:
    write({"images/a.jpg": ""})
    return "explain images"


def run_that_learned_nothing(name: str, *more: ev.Event) -> None:
    """A ReLU for targets below 0."""
    output = learning_runs.dense("relu", loss="mean_squared_error")
    learning_runs.trained(Run(Path(name)), output, learning_runs.NUMBERS, [1.0] * 6, more=more)


@MISTAKES.add("no-experiment")
def experiment_with_a_layer_of_ones_own() -> str:
    left_out = "Attention is a class of your own"
    run_that_learned_nothing("runs/a", ev.ExperimentKept(fit=1, left_out=left_out))
    return "explain runs/a --experiment"


@MISTAKES.add("experiment-failed")
def experiment_whose_python_is_broken() -> str:
    write(
        {
            "bin/python3": "#!/bin/sh\necho python3: libpython3.so: cannot open shared object file >&2\nexit 127\n"
        }
    )
    Path("bin/python3").chmod(0o755)
    joined = ev.ProcessJoined(executable=str(Path("bin/python3").absolute()))
    run_that_learned_nothing("runs/a", joined, ev.ExperimentKept(fit=1, rows=256))
    layer = {
        "module": "keras.layers",
        "class_name": "Dense",
        "config": {"name": "a", "units": 1, "activation": "relu"},
    }
    setup = {
        "fit": 1, "backend": "tensorflow", "rows": 256, "batch_size": 32, "inputs": None, "from_logits": False,
        "model": {"class_name": "Sequential", "config": {"layers": [layer]}}, "loss": "mse",
        "loss_name": "mean_squared_error", "targets": {"shape": [], "low": -3.0, "high": 3.0},
        "optimizer": {"module": "keras.optimizers", "class_name": "Adam", "config": {"learning_rate": 0.001}},
    }  # fmt: skip
    write({"runs/a/experiment/model.json": json.dumps(setup)})
    return "explain runs/a --experiment"


@MISTAKES.add("not-a-log")
def empty_log() -> str:
    write({"train.log": ""})
    return "explain train.log"


@MISTAKES.add("not-a-run")
def nothing_to_resume() -> str:
    return "train --resume --run-dir runs/a"


@MISTAKES.add("path-missing")
def no_runs_yet() -> str:
    return "top"


@MISTAKES.add("not-a-folder")
def file_instead_of_runs() -> str:
    write({"notes.txt": ""})
    return "board notes.txt"


#: What runs on this machine differs.
_PROCESSES = {
    r"(?s)(  found   )(?:training|no) process.*?(\n  change)": r"\1(training processes of this machine)\2",
    r"(  change  )(?:holdfast attach \d+|ps -ef.*)": r"\1holdfast attach 4711",
}


@MISTAKES.add("no-such-process", hide=_PROCESSES)
def attach_to_no_process() -> str:
    return "attach 2147483646"


@MISTAKES.add("usage", hide=_PROCESSES)
def attach_to_a_name() -> str:
    return "attach train.py"


@MISTAKES.add("usage", hide=_PROCESSES)
def attach_to_nothing() -> str:
    return "attach"


#: Where the first line ends depends on the number.
_NUMBER = {r"process \d+ is not Python, and no Python process is\s+below\s+it": "process 4711 is not Python"}


@MISTAKES.add("cannot-attach", hide={**_PROCESSES, **_NUMBER})
def attach_to_a_program_that_is_not_python() -> Printed:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        try:
            return python("-m", "holdfast", "attach", str(sleeper.pid))
        finally:
            sleeper.kill()


@MISTAKES.add(
    "already-watched",
    hide={
        r"process \d+": "process 4711",
        r"(?s)(  where   ).*?(\n  found)": r"\1holdfast run -- python train.py\2",
    },
)
def attach_to_what_is_watched() -> Printed:
    write({"train.py": "print('ready', flush=True)\nimport time\ntime.sleep(600)\n"})
    command = [sys.executable, "-m", "holdfast", "run", "--run-dir", "r", "--", sys.executable, "train.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as watching:
        try:
            assert watching.stdout is not None and watching.stdout.readline()
            below = Path(f"/proc/{watching.pid}/task/{watching.pid}/children").read_text().split()
            (pid,) = [
                pid
                for pid in below
                if b"train.py" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:2]
            ]
            return python("-m", "holdfast", "attach", pid)
        finally:
            watching.terminate()
            watching.wait()


@MISTAKES.add("permission-denied")
def run_folder_not_writable() -> str:
    write({"shared/readme.md": ""})
    Path("shared").chmod(0o555)
    as_another_user()
    return "run --run-dir shared/runs/a -- true"


@MISTAKES.add("journal-too-new")
def journal_of_a_later_version() -> str:
    opened = {"version": 99, "holdfast": "9.0"}
    write({"runs/a/journal.jsonl": json.dumps({**JOURNAL, "event": opened}) + "\n"})
    return "explain runs/a"


@MISTAKES.add("cannot-resume")
def resumed_with_another_batch() -> str:
    earlier_run("runs/a")
    return "train --resume --run-dir runs/a --set train.batch=16"


@MISTAKES.add("run-in-use", hide={r"process \d+ on\s+\S+": "process 4711 on host"})
def run_that_is_being_trained() -> Printed:
    earlier_run("runs/a")
    hold = (
        "from pathlib import Path\n"
        "from holdfast.train.checkpoint.run_lock import acquire_lock\n"
        "lock = acquire_lock(Path('runs/a')); print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as trainer:
        assert trainer.stdout is not None
        trainer.stdout.readline()
        try:
            return python("-m", "holdfast", "train", "--resume", "--run-dir", "runs/a")
        finally:
            trainer.kill()


@MISTAKES.add("checkpoint-torn")
def every_checkpoint_corrupt() -> str:
    import numpy as np

    from holdfast.train.checkpoint import checkpoint_files, resume

    folder = Path("runs/a/checkpoints")
    for step in (10, 20):
        made = checkpoint_files.write(
            folder, checkpoint_files.Snapshot(step, {"weights": {"w": np.zeros(100)}}, {})
        )
        with (made / "weights.npz").open("r+b") as file:
            file.truncate(200)
    resume.newest_checkpoint(folder, lambda event: None)
    raise AssertionError


@MISTAKES.add("range-test")
def range_test_killed() -> Printed:
    """As the kernel does when memory runs out."""
    from holdfast.data.synthetic import make_dataset

    make_dataset(Path("images"), count=2, side=64)
    write({"killed/keras/__init__.py": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"})
    path = os.pathsep.join(["killed", os.environ.get("PYTHONPATH", "")])
    return python("-m", "holdfast", "lr-find", "images", environment={"PYTHONPATH": path})


@MISTAKES.parametrize()
def test_the_error(
    mistake: Mistake, capfd: pytest.CaptureFixture[str], stored: Callable[[str, str], None]
) -> None:
    stored(f"errors/{mistake.name}", error_of(mistake, capfd))
