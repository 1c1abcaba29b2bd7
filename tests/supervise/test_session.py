"""Names of runs, what the child's environment becomes, the end block, what signals mean."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.errors import AlreadyThere
from holdfast.supervise import end_summary, run_names, session
from holdfast.supervise.end_summary import EndSummary
from holdfast.supervise.signal_policy import Response, respond


@pytest.mark.parametrize(
    "command,name",
    [
        (("python", "-u", "train.py", "--lr", "1"), "train"),
        (("python", "-m", "pkg.train"), "pkg.train"),
        (("bash", "-c", "x"), "bash"),
        (("/opt/bin/my trainer", "x"), "my-trainer"),
        (("torchrun", "--nproc", "2", "scripts/fit.py"), "fit"),
    ],
)
def test_a_run_is_named_after_its_script(command: tuple[str, ...], name: str) -> None:
    assert run_names.script_name(command) == name


def test_folders_are_counted_and_an_empty_one_may_be_used(tmp_path: Path) -> None:
    (tmp_path / "train-1").mkdir()
    assert (
        run_names.choose_folder(("python", "train.py"), run_dir=None, name=None, runs=tmp_path)
        == tmp_path / "train-2"
    )
    assert (
        run_names.choose_folder(("x",), run_dir=str(tmp_path / "train-1"), name=None, runs=tmp_path).name
        == "train-1"
    )
    (tmp_path / "train-1/file").touch()
    with pytest.raises(AlreadyThere) as raised:
        run_names.choose_folder(("x",), run_dir=None, name="train-1", runs=tmp_path)
    assert raised.value.found == ("other files",)
    assert raised.value.change == (
        f"--run-dir {tmp_path}/train-1-1, or leave it out for a folder of its own",
    )


def test_the_probe_comes_first_on_the_path(tmp_path: Path) -> None:
    made = session.child_environment({"PYTHONPATH": "/mine", "A": "b"}, tmp_path, 2)
    assert made["PYTHONPATH"] == f"{session.INJECT}{os.pathsep}/mine"
    assert made["HOLDFAST_ATTEMPT"] == "2" and made["A"] == "b"
    assert session.child_environment({}, tmp_path, 1)["PYTHONPATH"] == str(session.INJECT)


def test_the_end_block_of_a_killed_run() -> None:
    text = end_summary.render(
        EndSummary(
            command="python train.py",
            folder="runs/train-1",
            signal="SIGKILL",
            duration_s=3723,
            step=412,
            planned=5000,
            epoch=2,
            epochs=30,
            peak_bytes=3 * 2**30,
            attempts=2,
        )
    )
    assert text == (
        "holdfast: the command was ended by SIGKILL\n"
        "  command  python train.py\n"
        "  steps    412 of 5000 planned, epoch 3 of 30\n"
        "  took     1 h 2 min in 2 attempts\n"
        "  memory   3.00 GiB at its peak, all processes together\n"
        "  folder   runs/train-1"
    )


@pytest.mark.parametrize(
    "changes,sentence",
    [
        ({"exit_code": 0}, "the command ended with exit code 0"),
        ({"signal": "SIGTERM", "stopped_by_us": "stall"}, "the command stalled and was stopped"),
        (
            {"exit_code": 3, "stopped_by_us": "terminate"},
            "the command was asked to end by SIGTERM and ended with exit code 3",
        ),
        (
            {"signal": "SIGKILL", "stopped_by_us": "interrupt"},
            "the command was interrupted and ended by SIGKILL",
        ),
        ({}, "the command is gone; how it ended is not known here"),
    ],
)
def test_the_outcome_says_what_is_certain(changes: dict[str, object], sentence: str) -> None:
    assert end_summary.outcome_sentence(EndSummary(command="x", folder="r", **changes)) == sentence  # type: ignore[arg-type]


def test_the_first_interrupt_asks_and_the_second_kills() -> None:
    assert respond(signal.SIGINT, interrupts=1) is Response.TO_GROUP
    assert respond(signal.SIGINT, interrupts=2) is Response.KILL
    assert respond(signal.SIGTERM, interrupts=2) is Response.TO_COMMAND
    assert respond(signal.SIGHUP, interrupts=0) is Response.TO_GROUP
    assert respond(signal.SIGTSTP, interrupts=0) is Response.SUSPEND


def test_two_runs_that_start_at_once_never_share_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another start takes the name after it was seen to be free."""
    free = run_names.free_name

    def seen_free(parent: Path, stem: str) -> Path:
        found = free(parent, stem)
        if found.name == "train-1":
            found.mkdir(parents=True)
        return found

    monkeypatch.setattr(run_names, "free_name", seen_free)
    chosen = run_names.choose_folder(("python", "train.py"), run_dir=None, name=None, runs=tmp_path / "runs")
    assert chosen == tmp_path / "runs/train-2"
    assert chosen.is_dir()


def test_a_place_in_which_no_folder_can_be_made_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(NotADirectoryError):
        run_names.choose_folder(("python", "train.py"), run_dir=None, name=None, runs=tmp_path / "runs")


def test_signals_that_were_ignored_before_us_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    ignored = {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1}
    monkeypatch.setattr(
        signal, "getsignal", lambda number: signal.SIG_IGN if number in ignored else signal.SIG_DFL
    )
    assert session._ignored_signals() == ignored
