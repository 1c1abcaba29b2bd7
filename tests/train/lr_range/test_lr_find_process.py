"""How `holdfast lr-find` reports the answer, the error or the crash of its process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import settings
from holdfast.cli import lr_suggestion
from holdfast.data import synthetic
from holdfast.errors import HoldfastError, UnknownFormat
from holdfast.subprocess_json import Reply


def answered(monkeypatch: pytest.MonkeyPatch, answer: Any, exit_code: int = 0, stderr: bytes = b"") -> None:
    reply = Reply(answer, exit_code, stderr, timed_out=False)
    monkeypatch.setattr(lr_suggestion, "ask", lambda *words, **options: reply)


def test_an_error_of_its_process_is_raised_as_the_commands_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own = UnknownFormat(
        "no annotations were found here", where="data", found="an empty folder", change="another"
    )
    answered(monkeypatch, {"error": own.as_json()}, exit_code=2)
    with pytest.raises(HoldfastError) as caught:
        lr_suggestion.measure(settings.resolve({"data": {"train": "data"}}), steps=20)
    assert caught.value.as_json() == own.as_json()


def test_after_a_crash_the_last_lines_are_shown_without_a_librarys_noise() -> None:
    stderr = (
        b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        b"I0000 00:00:1794773153.287475   25783 port.cc:153] oneDNN custom operations are on.\n"
        b"RuntimeError: the driver went away\n"
    )
    crashed = lr_suggestion.failed(Reply(None, 1, stderr, timed_out=False))
    assert crashed.found == ("RuntimeError: the driver went away",)
    killed = lr_suggestion.failed(Reply(None, -9, b"", timed_out=False))
    assert killed.what == "the LR range test failed: killed by SIGKILL"


def test_a_loss_that_broke_is_null_in_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    synthetic.make_dataset(tmp_path / "data", count=2, side=64)
    monkeypatch.chdir(tmp_path)

    losses = [5.0 - number / 10 for number in range(19)] + [float("nan")]
    answered(monkeypatch, {"rates": [1e-6 * 2**number for number in range(20)], "losses": losses})
    from holdfast.cli.main import main

    assert main(["lr-find", "data", "--json", "--steps", "20"]) == 0
    answer = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert answer["losses"][-1] is None
    assert answer["suggestion"] > 0


def test_a_range_test_of_data_without_a_recipe_is_asked_of_the_other_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from holdfast.cli.main import main

    assert main(["check", "--lr", str(tmp_path)]) == 2
    assert f"holdfast lr-find {tmp_path}" in " ".join(capsys.readouterr().err.split())
