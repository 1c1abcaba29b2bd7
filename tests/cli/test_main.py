"""The command line as a person meets it: help, mistakes, exit codes, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from holdfast.cli import main as cli
from holdfast.errors import ExitCode


def test_help_names_every_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == cli.main(["--help"]) == ExitCode.FINE
    text = capsys.readouterr().out
    for command in cli.COMMANDS:
        assert f"\n  {command.name} " in text
        assert command.when in cli._GROUPS
    assert max(len(line) for line in text.splitlines()) <= 100


@pytest.mark.parametrize("command", cli.COMMANDS, ids=lambda command: command.name)
def test_every_command_of_the_table_has_its_file_and_its_help(
    command: cli.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    module = import_module(command.module)
    assert callable(module.run)
    with pytest.raises(SystemExit) as left:
        cli.main([command.name, "--help"])
    assert left.value.code == 0
    assert command.name in capsys.readouterr().out


def test_every_command_file_is_in_the_table() -> None:
    folders = {command.folder for command in cli.COMMANDS}
    files = {
        path.stem for folder in folders for path in (Path(cli.__file__).parent / folder).glob("*_command.py")
    }
    assert files == {command.module.rpartition(".")[2] for command in cli.COMMANDS}


@pytest.mark.parametrize(
    ("words", "slug", "says"),
    [
        (["recpe"], "unknown-command", "the nearest is 'recipe'"),
        (["qqqqqq"], "unknown-command", "holdfast --help"),
        (["--hlep"], "unknown-option", "--help"),
        (["recipe", "--jsn"], "unknown-option", "the nearest is --json"),
        (["recipe", "a", "b"], "usage", "'b'"),
        (["recipe", "--set"], "usage", "--set needs a value"),
        (["recipe", "--set", "train.bacth=4"], "unknown-setting", "train.batch"),
        (["recipe", "/nowhere.toml"], "path-missing", "/nowhere.toml"),
        (["recipe", "/"], "not-a-file", "is a folder"),
        (["data", "repiar"], "usage", "change  holdfast data repair"),
        (["train.py", "--lr", "1"], "unknown-command", "change  holdfast run -- python train.py --lr 1"),
        (["python3", "train.py"], "unknown-command", "change  holdfast run -- python3 train.py"),
        (["small.toml"], "unknown-command", "change  holdfast train small.toml"),
        (
            ["data", "convert", "a", "b", "--to", "coco", "--shrads", "3"],
            "unknown-option",
            "the nearest is --shards",
        ),
    ],
)
def test_a_mistake_gets_one_clear_error(
    words: list[str], slug: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == ExitCode.COULD_NOT
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error[{slug}]: ")
    assert says in printed.err
    assert "Traceback" not in printed.err


def test_an_error_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["recipe", "/nowhere.toml", "--json"]) == ExitCode.COULD_NOT
    printed = capsys.readouterr()
    assert json.loads(printed.out)["error"] == "path-missing"
    assert printed.err == ""


def _command(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    module = types.ModuleType("holdfast.cli.commands.recipe_command")

    def run(args: object) -> int:
        raise error

    module.add_arguments = lambda parser: None  # type: ignore[attr-defined]
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "holdfast.cli.commands.recipe_command", module)


def test_what_nobody_foresaw_is_called_a_defect_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _command(monkeypatch, ZeroDivisionError("division by zero"))
    assert cli.main(["recipe"]) == ExitCode.COULD_NOT
    text = capsys.readouterr().err
    assert text.startswith("error[internal]: a bug in Holdfast: ZeroDivisionError")
    assert "test_main.py:" in text


@pytest.mark.parametrize(
    ("error", "slug"),
    [
        (PermissionError(13, "Permission denied", "/x"), "permission-denied"),
        (OSError(28, "No space", "/x"), "disk-full"),
    ],
)
def test_errors_of_the_system_reach_the_user_in_words(
    error: OSError, slug: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _command(monkeypatch, error)
    assert cli.main(["recipe"]) == ExitCode.COULD_NOT
    assert capsys.readouterr().err.startswith(f"error[{slug}]: ")


def test_ctrl_c_shows_no_traceback() -> None:
    code = (
        "import sys, types, os, signal\n"
        "module = types.ModuleType('holdfast.cli.commands.recipe_command')\n"
        "module.add_arguments = lambda parser: None\n"
        "module.run = lambda args: os.kill(os.getpid(), signal.SIGINT) or signal.pause()\n"
        "sys.modules['holdfast.cli.commands.recipe_command'] = module\n"
        "from holdfast.cli.main import main\n"
        "sys.exit(main(['recipe']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == ExitCode.INTERRUPTED
    assert done.stderr == "\nholdfast: interrupted\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m holdfast recipe | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode in (0, 128 + signal.SIGPIPE)
    assert done.stderr == ""


def test_a_recipe_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('[data]\ntrain = "x"\n')
    path.chmod(0)
    tmp_path.chmod(0o755)
    if os.geteuid() == 0 and subprocess.run(["which", "setpriv"], capture_output=True).returncode:
        pytest.skip("root may read everything, and there is no setpriv to become somebody else")
    somebody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    code = f"import sys; from holdfast.cli.main import main; sys.exit(main(['recipe', {str(path)!r}]))"
    for parent in list(tmp_path.parents)[:3]:
        if os.geteuid() == 0 and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    done = subprocess.run(
        [*somebody, sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
    )
    if "No module named" in done.stderr or "can't open" in done.stderr:
        pytest.skip("the other user cannot read this installation")
    assert done.returncode == ExitCode.COULD_NOT
    assert done.stderr.startswith("error[permission-denied]: ")


@pytest.mark.parametrize(
    ("words", "extra"),
    [(["check", "."], "data"), (["train", "."], "cpu"), (["data", "inspect", "."], "data")],
)
def test_a_package_that_is_not_installed_is_no_defect(words: list[str], extra: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules['numpy'] = None; from holdfast.cli.main import main; sys.exit(main({words!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert " ".join(done.stderr.split()) == (
        f"error[dependency-missing]: holdfast {words[0]} needs numpy, which is not installed "
        f'change pip install "holdfast[{extra}]"'
    )
    assert done.returncode == ExitCode.COULD_NOT
