"""What the injection does to a Python process, with a package called `jax` that holds nothing."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.journal.events import ExceptionRaised, ExitCalled, ExitStarted, ProcessJoined
from holdfast.probe import bootstrap

from .probed import INJECT, run

#: Has no site-packages of ours, so no holdfast.
BARE = getattr(sys, "_base_executable", sys.executable)


@pytest.fixture
def frameworks(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH with an empty `jax`."""
    folder = tmp_path / "packages"
    (folder / "jax").mkdir(parents=True)
    (folder / "jax" / "__init__.py").write_text("__version__ = '0'\n")
    return folder


def test_a_process_without_a_framework_writes_nothing(tmp_path: Path) -> None:
    done = run("-c", "import json, threading; print('fine')", folder=tmp_path / "run")
    assert (done.code, done.output) == (0, "fine\n")
    assert not (tmp_path / "run").exists()


def test_the_file_can_be_read_by_python_3_6(tmp_path: Path) -> None:
    ast.parse((INJECT / "sitecustomize.py").read_text(), feature_version=(3, 6))


def test_the_path_is_left_as_it_was_and_the_variable_stays(tmp_path: Path) -> None:
    code = (
        "import sys, os; print([p for p in sys.path if 'inject' in p], 'inject' in os.environ['PYTHONPATH'])"
    )
    assert run("-c", code, folder=tmp_path / "run").output == "[] True\n"


def test_a_sitecustomize_further_down_is_run_as_if_it_were_the_first(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.mark = __name__\n")
    code = "import sys, sitecustomize; print(sys.mark, sitecustomize.__file__)"
    done = run("-c", code, folder=tmp_path / "run", path=(tmp_path,))
    assert done.output == f"sitecustomize {tmp_path / 'sitecustomize.py'}\n"


def test_an_interpreter_without_holdfast_is_watched_and_gets_none(tmp_path: Path, frameworks: Path) -> None:
    code = """
import jax, sys
print(any(name == "holdfast" or name.startswith("holdfast.") for name in sys.modules))
try:
    import holdfast
except ImportError:
    print("not installed")
"""
    done = run("-c", code, folder=tmp_path / "run", path=(frameworks,), python=BARE)
    assert done.output == "False\nnot installed\n"
    assert done.one(ProcessJoined).argv == ["-c"]
    assert done.one(ExitStarted).raised == ""


def test_a_holdfast_of_the_scripts_own_is_left_alone(tmp_path: Path, frameworks: Path) -> None:
    (frameworks / "holdfast.py").write_text("name = 'mine'\n")
    done = run(
        "-c",
        "import jax, holdfast; print(holdfast.name)",
        folder=tmp_path / "run",
        path=(frameworks,),
        python=BARE,
    )
    assert done.output == "mine\n"
    assert len(done.all(ProcessJoined)) == 1


def test_a_script_that_fails_before_any_framework_is_told(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import os\n\nopen('/nowhere/labels.csv')\n")
    done = run(script, folder=tmp_path / "run", cwd=tmp_path)
    raised = done.one(ExceptionRaised)
    assert done.code == 1
    assert (raised.type, raised.errno, raised.user_line) == ("FileNotFoundError", 2, "train.py:3")
    assert raised.paths == ["/nowhere/labels.csv"]
    assert done.output.count("holdfast") == 0


def test_a_hook_for_exceptions_of_the_scripts_own_does_not_hide_them(
    tmp_path: Path, frameworks: Path
) -> None:
    code = "import jax, sys\nsys.excepthook = lambda *args: print('mine')\nraise KeyError('x')"
    done = run("-c", code, folder=tmp_path / "run", path=(frameworks,))
    assert done.output == "mine\n"
    assert done.one(ExceptionRaised).type == "KeyError"


def test_an_exception_in_a_thread_is_told_and_printed(tmp_path: Path, frameworks: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import jax, threading\ndef load():\n    raise OSError(24, 'Too many open files')\n"
        "thread = threading.Thread(target=load)\nthread.start()\nthread.join()\n"
    )
    done = run(script, folder=tmp_path / "run", path=(frameworks,), cwd=tmp_path)
    raised = done.one(ExceptionRaised)
    assert (raised.left, raised.errno, raised.user_line) == ("thread", 24, "train.py:3")
    assert "Too many open files" in done.output


def test_forked_children_stay_out_of_the_ring_of_their_parent(tmp_path: Path, frameworks: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import jax, multiprocessing\n"
        "def work(number):\n    raise ValueError(number)\n"
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('fork').Process(target=work, args=(7,))\n"
        "    process.start()\n    process.join()\n    print(process.exitcode)\n"
    )
    done = run(script, folder=tmp_path / "run", path=(frameworks,), cwd=tmp_path)
    assert done.output.endswith("1\n")
    joined = [entry for entry in done.entries if isinstance(entry.event, ProcessJoined)]
    assert {beat.pid for beat in done.beats} == {joined[0].pid}
    raised = next(entry for entry in done.entries if isinstance(entry.event, ExceptionRaised))
    assert raised.pid != joined[0].pid
    assert (raised.event.left, raised.event.process, raised.event.user_line) == (
        "loader",
        "worker",
        "train.py:3",
    )


def test_spawned_children_say_that_they_are_workers(tmp_path: Path, frameworks: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import jax, multiprocessing\n"
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('spawn').Process(target=print, args=('child',))\n"
        "    process.start()\n    process.join()\n"
    )
    done = run(script, folder=tmp_path / "run", path=(frameworks,), cwd=tmp_path)
    assert sorted(event.role for event in done.all(ProcessJoined)) == ["main", "worker"]
    assert len({beat.pid for beat in done.beats}) == 1


@pytest.mark.parametrize("name", ["multiprocessing_train.py", "train.py"])
def test_a_script_is_no_worker_because_of_its_name(tmp_path: Path, frameworks: Path, name: str) -> None:
    folder = tmp_path / "joblib.externals" / "multiprocessing"
    folder.mkdir(parents=True)
    (folder / name).write_text("import jax, sys\nsys.exit('gave up: no data')\n")
    done = run(folder / name, folder=tmp_path / "run", path=(frameworks,), cwd=tmp_path)
    assert done.one(ProcessJoined).role == "main"
    assert done.one(ExitCalled).message == "gave up: no data"


@pytest.mark.parametrize(
    ("command", "worker"),
    [
        (["python", "-c", "from multiprocessing.spawn import spawn_main", "--multiprocessing-fork"], True),
        (["python", "-B", "-W", "ignore", "-c", "from multiprocessing.forkserver import main; main()"], True),
        (["trainer.exe", "--multiprocessing-fork", "pipe_handle=5"], True),
        (["python", "-m", "joblib.externals.loky.backend.popen_loky_posix", "--process-name", "a"], True),
        (["python", "-c", "import multiprocessing, jax"], False),
        (["python", "-m", "multiprocessing_train"], False),
        (["python", "/home/me/multiprocessing/train.py", "--workers", "2"], False),
        (["python", "-m", "train", "-c", "from multiprocessing.config"], False),
        (["python"], False),
    ],
)
def test_a_worker_is_known_by_the_words_that_start_it(command: list[str], worker: bool) -> None:
    assert bootstrap._is_worker(command) is worker


def test_stacks_come_at_a_signal_while_the_main_thread_is_blocked(tmp_path: Path, frameworks: Path) -> None:
    code = "import jax, os, signal; os.kill(os.getpid(), signal.SIGUSR2); print('on')"
    done = run("-c", code, folder=tmp_path / "run", path=(frameworks,))
    assert done.output == "on\n"
    [stacks] = (tmp_path / "run" / "stacks").iterdir()
    assert "most recent call first" in stacks.read_text()


def test_warnings_are_printed_at_the_same_place(tmp_path: Path, frameworks: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import warnings\nimport jax\ndef inner():\n    warnings.warn('careful', stacklevel=2)\ninner()\n"
    )
    watched = run(script, folder=tmp_path / "run", path=(frameworks,), cwd=tmp_path)
    alone = run(script, folder=tmp_path / "none", path=(frameworks,), cwd=tmp_path, probe=False)
    assert watched.output == alone.output
    assert ":5: UserWarning: careful" in watched.output


def test_a_run_folder_that_cannot_be_made_does_not_stop_the_script(frameworks: Path) -> None:
    done = run("-c", "import jax; print('trained')", folder=Path("/proc/nowhere"), path=(frameworks,))
    assert (done.code, done.output) == (0, "trained\n")


def test_a_process_started_with_isolation_is_not_touched(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(INJECT), "HOLDFAST_RUN_DIR": str(tmp_path / "run")}
    done = subprocess.run([sys.executable, "-I", "-c", "print(1)"], env=env, capture_output=True, text=True)
    assert done.stdout == "1\n"
    assert not (tmp_path / "run").exists()
