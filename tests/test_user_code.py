"""One rule for whose file it is, in the process and outside of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast import user_code
from holdfast.journal.stack_files import Frame
from holdfast.probe.runtime import user_lines
from holdfast.supervise.stack_capture import capture
from holdfast.user_code import ScriptWord, script_words

USERS = [
    "train.py",
    "pkg/train.py",
    "/home/me/train.py",
    "/home/me/keras/train.py",
    "/home/me/keras/src/train.py",
    "/home/me/library/python_tricks.py",
    "/tmp/ipykernel_77/123.py",
    "<stdin>",
    "<ipython-input-3-1f2e>",
]
OTHERS = [
    "",
    "?",
    "<string>",
    "<frozen runpy>",
    "<attrs generated init app.Settings>",
    "<__array_function__ internals>",
    "/venv/lib/python3.11/site-packages/keras/src/trainers/trainer.py",
    "/usr/lib/python3/dist-packages/numpy/core/numeric.py",
    "/opt/conda/lib/python3.11/json/__init__.py",
    "/usr/lib64/python3.12/threading.py",
    "/home/me/checkout/keras/src/trainers/trainer.py",
    "keras/src/backend/tensorflow/trainer.py",
    "tensorflow/python/eager/execute.py",
    "jax/_src/pjit.py",
    "torch/nn/modules/module.py",
    "h5py/_proxy.pyx",
    "tensorflow/core/kernels/matmul_op.cc",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/tmp/__autograph_generated_file1x.py",
    "/srv/holdfast/probe/runtime/wrapping.py",
    user_code.__file__,
    json.__file__,
    pytest.__file__,
]


@pytest.mark.parametrize("path", USERS)
def test_the_users(path: str) -> None:
    assert user_code.is_user_file(path)


@pytest.mark.parametrize("path", OTHERS)
def test_everybody_elses(path: str) -> None:
    assert not user_code.is_user_file(path)


@pytest.mark.parametrize("path", USERS + OTHERS)
def test_probe_and_supervisor_agree(path: str) -> None:
    users = user_code.is_user_file(path)
    if path != "<string>":  # the user's own where the process was started by `python -c`, as a test worker is
        assert user_lines.is_user_file(path) is users
    assert capture.is_user_frame(Frame(file=path, line=1, function="f")) is users


def test_a_file_of_these_tests_is_a_users() -> None:
    assert user_lines.is_user_file(str(Path(__file__)))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["python", "-u", "train.py", "--lr", "1"], [ScriptWord("train.py", False)]),
        (
            ["python", "-m", "pkg.train", "--config", "conf.py"],
            [ScriptWord("pkg.train", True), ScriptWord("conf.py", False)],
        ),
        (["./train.sh"], []),
        (["python", "-m"], []),
    ],
)
def test_the_script_of_a_command(command: list[str], words: list[ScriptWord]) -> None:
    assert list(script_words(command)) == words


def test_other_scripts_on_request() -> None:
    assert list(script_words(["bash", "train.sh"], (".py", ".sh"))) == [ScriptWord("train.sh", False)]


def test_a_package_beside_the_records_of_an_installer_is_nobodys_own(tmp_path: Path) -> None:
    """`pip install --target libraries torch`, and libraries on PYTHONPATH."""
    for folder in ("libraries/torch/multiprocessing", "libraries/torch", "project/torch"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "libraries" / "torch-2.13.0.dist-info").mkdir()
    installed = tmp_path / "libraries" / "torch" / "multiprocessing" / "spawn.py"
    assert not user_code.is_user_file(str(installed))
    assert user_code.is_user_file(str(tmp_path / "project" / "torch" / "spawn.py"))
    assert user_code.is_user_file(str(tmp_path / "libraries" / "train.py"))
