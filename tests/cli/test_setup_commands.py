"""`holdfast doctor` and `holdfast completion`, on this machine and in the real shells."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from holdfast.cli import main as cli
from holdfast.cli.setup import completion_scripts, framework_checks, machine_checks
from holdfast.cli.setup.completion_scripts import DescribedCommand
from holdfast.cli.setup.doctor_command import render
from holdfast.cli.setup.machine_checks import MachineCheck
from holdfast.host.ptrace_access import Refusal

# -- doctor ---------------------------------------------------------------------------------------


def test_doctor_prints_one_object_with_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert (report["schema"], report["ok"]) == ("holdfast.doctor/1", code == 0)
    checks = {one["check"]: one for one in report["checks"]}
    assert {"Python", "stacks", "control group", "disk", "GPU", "TensorFlow", "torch", "AWS"} <= checks.keys()
    assert checks["Python"]["state"] == "ok" and sys.executable in checks["Python"]["detail"]
    for one in report["checks"]:
        assert set(one) == {"check", "state", "detail", "change"}
        assert one["state"] in ("ok", "limited", "optional", "missing") and one["detail"]


def test_the_screen_lists_what_to_do_the_needed_first() -> None:
    checks = [
        MachineCheck("Python", "ok", "3.11"),
        MachineCheck("torch", "optional", "not installed", "pip install torch"),
        MachineCheck("GPU", "missing", "no answer", "nvidia-smi"),
    ]
    assert render(checks, "1.2") == (
        "holdfast 1.2 on this machine\n\n"
        "  ok       Python  3.11\n"
        "  -        torch   not installed\n"
        "  MISSING  GPU     no answer\n\n"
        "to be fixed:\n  GPU     nvidia-smi\n\n"
        "only if you need it:\n  torch   pip install torch"
    )
    assert render(checks[:2], "1.2").endswith("Nothing that is needed is missing.")


def interpreter(tmp_path: Path, **modules: str) -> str:
    """An interpreter that finds these modules first, as a package that is installed in it."""
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text)
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}" exec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return str(program)


TORCH = """__version__ = '2.9'
class version: cuda = {cuda!r}
class cuda: device_count = staticmethod(lambda: {gpus})
"""


@pytest.mark.parametrize(
    ("text", "state", "detail"),
    [
        (TORCH.format(cuda="13.0", gpus=2), "ok", "2.9, 2 GPU"),
        (TORCH.format(cuda=None, gpus=0), "limited", "2.9: built for the CPU, and there is a GPU"),
        (TORCH.format(cuda="13.0", gpus=0), "missing", "2.9: built for GPUs, and finds none"),
        (
            "import no_such_module_here",
            "missing",
            "installed, and cannot be imported: ModuleNotFoundError: No module",
        ),
    ],
)
def test_a_framework_that_does_not_work_is_missing(
    tmp_path: Path, text: str, state: str, detail: str
) -> None:
    found = framework_checks.framework_check("torch", interpreter(tmp_path, torch=text), with_gpu=True)
    assert found.state == state
    assert found.detail.startswith(detail)
    assert bool(found.change) == (state != "ok")


KERAS = """import os
__version__ = "3.15"
if os.environ.get("KERAS_BACKEND") != "jax":
    import tensorflow
class backend: backend = staticmethod(lambda: "jax")
"""


@pytest.mark.skipif(bool(importlib.util.find_spec("tensorflow")), reason="Keras has its usual backend here")
def test_keras_without_tensorflow_works_on_another_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    alone = framework_checks.framework_check("keras", interpreter(tmp_path, keras=KERAS), with_gpu=False)
    assert alone.state == "missing" and alone.detail.endswith("No module named 'tensorflow'")
    found = framework_checks.framework_check(
        "keras", interpreter(tmp_path, keras=KERAS, jax=""), with_gpu=False
    )
    assert found.state == "ok"
    assert found.detail == "3.15 (backend jax; scripts of your own need KERAS_BACKEND=jax)"


def test_an_import_that_never_ends_and_an_interpreter_that_is_none(tmp_path: Path) -> None:
    slow = interpreter(tmp_path, torch="import time; time.sleep(60)")
    found = framework_checks.framework_check("torch", slow, with_gpu=False, timeout_s=0.5)
    assert (found.state, found.detail) == ("missing", "importing it took longer than 0.5 s")
    found = framework_checks.framework_check("torch", str(tmp_path / "none"), with_gpu=False)
    assert found.state == "missing" and "could not be started" in found.detail


def test_credentials_are_found_and_never_shown(tmp_path: Path) -> None:
    word = "w" * 20
    environment = {"HOME": str(tmp_path), "AWS_ACCESS_KEY_ID": word, "AWS_SECRET_ACCESS_KEY": word}
    google, aws = machine_checks.credential_checks(environment)
    assert (google.state, aws.state) == ("optional", "ok")
    assert word not in google.detail + aws.detail
    file = tmp_path / ".aws" / "credentials"
    file.parent.mkdir()
    file.write_text("[default]")
    environment = {"HOME": str(tmp_path), "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "gone.json")}
    google, aws = machine_checks.credential_checks(environment)
    assert (google.state, aws.state) == ("missing", "ok")


def test_what_hinders_reading_stacks_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for refusal in Refusal:
        monkeypatch.setattr(machine_checks.ptrace_access, "refusal", lambda pid, why=refusal: why)
        found = machine_checks.stacks_check()
        assert (found.state, bool(found.change)) == ("limited", True)


@pytest.mark.parametrize(
    ("installed", "change"),
    [
        ((), 'pip install "holdfast[cpu]", or [gpu], or [jax] without TensorFlow'),
        (("jax",), 'pip install "holdfast[train]"'),
    ],
)
def test_training_needs_a_backend(
    monkeypatch: pytest.MonkeyPatch, installed: tuple[str, ...], change: str
) -> None:
    monkeypatch.setattr(machine_checks, "_installed", lambda package: package in installed)
    checks = {one.name: one for one in machine_checks.extras_checks()}
    assert checks["train"].change == change and checks["data"].change == 'pip install "holdfast[data]"'


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    assert machine_checks.disk_check(tmp_path / "runs" / "x").state == "ok"
    if os.geteuid():
        tmp_path.chmod(0o500)
        assert machine_checks.disk_check(tmp_path / "runs").state == "missing"


# -- completion -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def commands() -> list[DescribedCommand]:
    return completion_scripts.described_commands()


def test_every_command_and_action_is_described(commands: list[DescribedCommand]) -> None:
    words = [one.words for one in commands]
    assert {one[0] for one in words} == {command.name for command in cli.COMMANDS}
    assert ("data", "convert") in words
    options = {name for one in commands for option in one.options for name in option.names}
    assert {"--notify", "--on-stall", "--run-dir"} <= options
    assert "--conductor" not in options, "an old name is not offered"


#: What is typed -> some of what is offered.
TYPED = {
    "ru": {"run"},
    "run --on": {"--on-stall"},
    "run --on-stall ": {"report", "stop", "restart"},
    "data con": {"convert"},
    "data convert --for": {"--format"},
    "data convert src dst --to ": {"coco", "voc", "yolo", "tfrecord"},
    "causes killed-for": {"killed-for-memory"},
    "run --on-stall stop -- xarg": {"xargs"},
    "check --format label-": {"label-studio"},
}


def bash(script: Path, typed: str) -> set[str]:
    words = ["holdfast", *typed.split(" ")]
    listed = " ".join(f"'{word}'" for word in words)
    setup = f"source {script}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}"
    code = setup + "; _holdfast; printf '%s\\n' \"${COMPREPLY[@]}\""
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    return set(done.stdout.split())


def test_bash_splits_an_option_at_its_equals_sign(tmp_path: Path, commands: list[DescribedCommand]) -> None:
    script = tmp_path / "script"
    script.write_text(completion_scripts.script("bash", commands))
    assert bash(script, "run --on-stall = st") == {"stop"}
    assert bash(script, "run --on-stall =") == {"report", "stop", "restart"}


def fish(script: Path, typed: str) -> set[str]:
    code = f"source {script}; complete -C 'holdfast {typed}'"
    done = subprocess.run(["fish", "-N", "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("shell", [bash, fish], ids=lambda shell: shell.__name__)
def test_completion_in_the_real_shell(
    shell: object, tmp_path: Path, commands: list[DescribedCommand]
) -> None:
    name = shell.__name__  # type: ignore[attr-defined]
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}")
    script = tmp_path / "script"
    script.write_text(completion_scripts.script(name, commands))
    for typed, expected in TYPED.items():
        assert expected <= shell(script, typed), typed  # type: ignore[operator]


def test_zsh_takes_the_script(tmp_path: Path, commands: list[DescribedCommand]) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("there is no zsh")
    script = tmp_path / "script"
    script.write_text(completion_scripts.script("zsh", commands))
    code = f"autoload -U compinit; compinit -u -D; source {script}; print -r -- $_comps[holdfast]"
    done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.stdout.strip(), done.stderr) == ("_holdfast", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    assert "holdfast" in capsys.readouterr().out
    assert cli.main(["completion", "tcsh"]) == 2
