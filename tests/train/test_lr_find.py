"""What the range test's command says of a process that did not come to its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli import lr_find
from holdfast.data import shapes
from holdfast.errors import UnknownFormat
from holdfast.train.lr_find import ANSWER


def test_what_its_process_refused_is_said_as_the_command_s_own(tmp_path: Path) -> None:
    assert lr_find.refused(tmp_path) is None
    own = UnknownFormat(
        "no annotations were found here", where="data", found="an empty folder", change="another"
    )
    (tmp_path / ANSWER).write_text(json.dumps(own.as_json()))
    told = lr_find.refused(tmp_path)
    assert told is not None
    assert told.as_json() == own.as_json()


def test_after_a_crash_its_last_words_are_shown_without_a_library_s_chatter() -> None:
    said = (
        b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        b"I0000 00:00:1794773153.287475   25783 port.cc:153] oneDNN custom operations are on.\n"
        b"RuntimeError: the driver went away\n"
    )
    assert lr_find.RangeTestEnded(said, 1).found == ("RuntimeError: the driver went away",)
    assert lr_find.RangeTestEnded(b"", -9).what == "the range test was ended by SIGKILL"


def test_a_loss_that_broke_is_null_in_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes.make(tmp_path / "data", count=2, side=64)
    monkeypatch.chdir(tmp_path)

    def told(folder: str, steps: int) -> None:
        losses = [5.0 - number / 10 for number in range(steps - 1)] + [float("nan")]
        found = {"rates": [1e-6 * 2**number for number in range(steps)], "losses": losses}
        Path(folder, "lr_find.json").write_text(json.dumps(found))

    monkeypatch.setattr(lr_find, "_train", told)
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
