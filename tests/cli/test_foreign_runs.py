"""Run folders of strangers: one that is damaged, or made to do harm, costs its own row and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from holdfast.cli.main import main
from holdfast.journal import stack_files
from holdfast.journal.folder import RunFolder

Harm = Callable[[Path], object]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("foreign") / "runs"
    command = [
        sys.executable,
        "-m",
        "holdfast",
        "run",
        "--run-dir",
        str(runs / "good"),
        "--",
        sys.executable,
        "-c",
        "1",
    ]
    subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=True)
    return runs / "good"


def _text(name: str, text: str) -> Harm:
    return lambda folder: (folder / name).write_text(text)


def _replaced(name: str, old: str, new: str) -> Harm:
    return lambda folder: (folder / name).write_text((folder / name).read_text().replace(old, new))


def _fifo(name: str) -> Harm:
    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return make


def _link(name: str, to: str) -> Harm:
    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(to)

    return make


def _other_types(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    for line in lines:
        line["event"] = {
            name: [1] if isinstance(value, str) else "x" for name, value in line["event"].items()
        }
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


HARMS: dict[str, Harm] = {
    "newer": _replaced("journal.jsonl", '"version": 1', '"version": 2'),
    "version-text": _replaced("journal.jsonl", '"version": 1', '"version": "2"'),
    "deep-verdict": _text("verdict.json", "[" * 200_000),
    "verdict-types": _text("verdict.json", '{"step": "x", "findings": ["t"], "outcome": 3}'),
    "vitals-types": _text("vitals.jsonl", '{"at": "x", "mono": "y", "step": "z", "rss_bytes": "q"}\n' * 3),
    "vitals-number": _text("vitals.jsonl", '{"at": 1, "loss": 1.2.3}\n' * 3),
    "vitals-huge": _text("vitals.jsonl", '{"at": 1, "loss": 1e999, "rss_bytes": 1%s}\n' % ("0" * 400)),
    "types": _other_types,
    **{f"fifo-{name}": _fifo(name) for name in ("journal.jsonl", "vitals.jsonl", "output.log", "verdict.json", "beats",
                                                "recipe.toml", "dataset.json", "validation.json")},
    **{f"endless-{name}": _link(name, "/dev/zero") for name in ("journal.jsonl", "vitals.jsonl", "output.log")},
}  # fmt: skip


@pytest.mark.parametrize("name", HARMS)
def test_a_bad_folder_costs_its_own_row(
    good: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(good, runs / "good")
    shutil.copytree(good, runs / "bad")
    HARMS[name](runs / "bad")
    assert main(["top", str(runs), "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["good"]["state"] == "finished"
    assert main(["explain", str(runs / "good")]) == 0
    for command in (["explain", "bad"], ["report", "bad"], ["compare", "good", "bad"]):
        code = main([command[0], *(str(runs / one) for one in command[1:])])
        said = capsys.readouterr()
        assert code in (0, 1, 2)
        assert "a bug in Holdfast" not in said.err


def test_a_private_file_behind_a_link_is_not_shown(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "private").write_text("the private text\n")
    shutil.copytree(good, tmp_path / "bad")
    _link("output.log", str(tmp_path / "private"))(tmp_path / "bad")
    shutil.rmtree(tmp_path / "bad" / "source", ignore_errors=True)
    (tmp_path / "bad" / "source").symlink_to(tmp_path)
    assert main(["report", str(tmp_path / "bad")]) == 0
    assert "the private text" not in (tmp_path / "bad" / "report.html").read_text()
    assert main(["explain", str(tmp_path / "bad"), "--json"]) in (0, 1)
    assert "output.log was not read: this is a symbolic link" in capsys.readouterr().out


def test_a_neighbour_at_which_reading_would_wait(tmp_path: Path) -> None:
    (tmp_path / "runs" / "bad").mkdir(parents=True)
    os.mkfifo(tmp_path / "runs" / "bad" / "journal.jsonl")
    (tmp_path / "t.py").write_text("raise ValueError(1)\n")
    run = [sys.executable, "-m", "holdfast", "run", "--", sys.executable, "t.py"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 1
    assert b"verdict[script-error]" in done.stderr


def _is_private(run: Path) -> None:
    assert run.stat().st_mode & 0o777 == 0o700
    files = [path for path in run.rglob("*") if path.is_file()]
    assert {"journal.jsonl", "verdict.json"} <= {path.name for path in files}
    assert [path.name for path in files if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize(
    "options", [[], ["--name", "python-1"], ["--run-dir", "runs/python-1"], ["--notify", "cat > /dev/null"]]
)
def test_a_run_folder_is_private(tmp_path: Path, options: list[str]) -> None:
    """Whoever made it: the name that is chosen, the process that notifies, the supervisor."""
    command = [
        sys.executable,
        "-m",
        "holdfast",
        "run",
        *options,
        "--",
        sys.executable,
        "-c",
        "raise ValueError",
    ]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S)
    _is_private(tmp_path / "runs" / "python-1")


def test_a_block_that_is_watched_is_private_and_keeps_no_secret_and_obeys_no_escapes(tmp_path: Path) -> None:
    text = (
        "import holdfast\nfrom holdfast.notebook.watch_block import CellSource\nblock = holdfast.watch('w')\n"
        "block.source = CellSource('cell', '1', 'api_key = \"k3yk3yk3y\"\\n', 'cell.py')\n"
        "with block:\n    raise ValueError('\\x1b]0;owned\\x07')\n"
    )
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, timeout=PATIENCE_S)
    _is_private(tmp_path / "w")
    assert (tmp_path / "w" / "source" / "cell.py").read_text() == 'api_key = "[redacted]"\n'
    said = done.stderr.split(b"verdict[")[1].split(b"Traceback")[0]
    assert b"\x1b" not in said and rb"\u001b]0;owned\u0007" in said


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("failed") / "run"
    command = [sys.executable, "-m", "holdfast", "run", "--run-dir", str(folder), "--", sys.executable, "-c"]
    subprocess.run([*command, "raise PermissionError('MESSAGE')"], capture_output=True, timeout=PATIENCE_S)
    return folder


@pytest.mark.parametrize(
    "unit", ["/", "a/", ".", "\t", "1/", "a", "flock(", "{{", "libcua", "NotFoundError:", "token_"]
)
def test_a_message_of_a_megabyte_is_looked_through_at_once(
    failed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], unit: str
) -> None:
    """In a record of the journal and in the output; patterns with several ways to match it would take hours."""
    shutil.copytree(failed, tmp_path / "bad")
    message = "[Errno 13] MiB is reserved NotFoundError: " + unit * (1_000_000 // len(unit))
    for name, text in (("journal.jsonl", json.dumps(message)[1:-1]), ("output.log", message)):
        path = tmp_path / "bad" / name
        assert "MESSAGE" in path.read_text()
        path.write_text(path.read_text().replace("MESSAGE", text))
    for command in (["explain"], ["report", "--redact"]):
        assert main([*command, str(tmp_path / "bad")]) in (0, 1)
    assert "[Errno 13]" in capsys.readouterr().out


@pytest.mark.parametrize("unit", ["a", "a/", "-", " ", "token_"])
def test_a_command_that_raises_a_megabyte_ends_as_without_it(tmp_path: Path, unit: str) -> None:
    text = f"raise ValueError({unit!r} * 1_000_000)"
    command = [sys.executable, "-m", "holdfast", "run", "--run-dir", "r", "--", sys.executable, "-c", text]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S).returncode == 1


def test_many_thousand_records_of_one_kind(
    failed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many as fit below the limit of a journal; no run writes them."""
    shutil.copytree(failed, tmp_path / "bad")
    lines = (failed / "journal.jsonl").read_text().splitlines(keepends=True)
    (raised,) = [line for line in lines if '"exception_raised"' in line]
    at = lines.index(raised)
    (tmp_path / "bad" / "journal.jsonl").write_text("".join([*lines[:at], *[raised] * 30_000, *lines[at:]]))
    assert main(["explain", str(tmp_path / "bad")]) == 1
    assert "verdict[permission-denied]" in capsys.readouterr().out


def test_vital_signs_in_one_line_of_gigabytes(
    failed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(failed, tmp_path / "bad")
    for size in (600 << 20, 9 << 30):
        with (tmp_path / "bad" / "vitals.jsonl").open("wb") as file:
            file.truncate(size)
        for command in ("explain", "report"):
            assert main([command, str(tmp_path / "bad")]) in (0, 1)
    assert "verdict[permission-denied]" in capsys.readouterr().out


def test_facts_of_a_run_whose_command_is_no_list(failed: Path, tmp_path: Path) -> None:
    from holdfast.board.run_facts import read_facts

    opened = {"kind": "run_opened", "event": {"command": 5, "host": "h"}}
    (tmp_path / "journal.jsonl").write_text(json.dumps(opened) + "\n")
    assert read_facts(RunFolder(tmp_path))["command"] == ""


def test_folders_in_a_run_that_are_links_are_not_read(good: Path, tmp_path: Path) -> None:
    """Stacks of another run of the reader's own would be in the report of the stranger's."""
    run, private = tmp_path / "run", tmp_path / "private"
    shutil.copytree(good, run)
    private.mkdir()
    process = stack_files.ProcessStacks(pid=1, name="python", command="my-secret-customer")
    capture = stack_files.Capture(reason="stall", looks=[stack_files.StackSnapshot(processes=[process])])
    stack_files.write(private / "stall-1-1.json", capture)
    for name in ("stacks", "source", "experiment"):
        shutil.rmtree(run / name, ignore_errors=True)
        (run / name).symlink_to(private)
    assert main(["explain", str(run)]) == 0
    assert main(["report", str(run)]) == 0
    assert "my-secret-customer" not in (run / "report.html").read_text()
