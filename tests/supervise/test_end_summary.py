"""The summary at the end of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.supervise import end_summary
from holdfast.supervise.end_summary import EndSummary


def test_the_summary_of_a_killed_run() -> None:
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
        "  memory   3.0 GiB at its peak, all processes together\n"
        "  folder   runs/train-1"
    )


def test_memory_that_was_never_measured_is_left_out() -> None:
    summary = EndSummary(command="true", folder="runs/true-1", exit_code=0, duration_s=0.1, peak_bytes=0)
    assert "memory" not in end_summary.render(summary)


@pytest.mark.parametrize(
    "changes,sentence",
    [
        ({"exit_code": 0}, "the command ended with exit code 0"),
        ({"signal": "SIGTERM", "stopped_by_us": "stall"}, "the command stalled and was stopped"),
        (
            {"exit_code": 3, "stopped_by_us": "terminate"},
            "the command received SIGTERM and ended with exit code 3",
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


def test_the_position_as_printed() -> None:
    text = end_summary.render(
        EndSummary(command="node train.js", folder="r", exit_code=0, printed="step 7 of 50")
    )
    assert "  steps    step 7 of 50 (as printed)\n" in text


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (
            ["/opt/bin/python", "-m", "holdfast.train", "/home/me/job/runs/t-1"],
            "python -m holdfast.train runs/t-1",
        ),
        (
            ["python", "train.py", "--data=/home/me/job/data", "/data/big"],
            "python train.py --data=data /data/big",
        ),
        (["./train.sh", "a b", "/home/me/jobs/x"], "./train.sh 'a b' /home/me/jobs/x"),
    ],
)
def test_the_command_is_shown_as_it_would_be_typed(command: list[str], shown: str) -> None:
    assert end_summary.shown_command(command, here=Path("/home/me/job")) == shown
