"""The commands explain and causes, as a shell sees them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from holdfast.cli.main import main
from holdfast.explain.causes import CAUSES
from tests.explain.causes import test_early_stopping as early_stopping
from tests.explain.causes import test_killed_for_memory
from tests.explain.made import Run


def test_explain_ends_with_1_on_bad_news_and_0_on_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good, asked = Run(tmp_path / "bad"), Run(tmp_path / "good"), Run(tmp_path / "asked")
    test_killed_for_memory.example(bad)
    early_stopping.near_miss(good)
    early_stopping.example(asked)
    assert main(["explain", str(bad.path)]) == 1
    assert capsys.readouterr().out.startswith("verdict[killed-for-memory]: ")
    assert main(["explain", str(good.path)]) == 0
    assert capsys.readouterr().out.startswith("verdict[finished]: ")
    assert main(["explain", str(asked.path)]) == 0  # EarlyStopping did what it is for


def test_explain_prints_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path / "run")
    test_killed_for_memory.example(run)
    main(["explain", str(run.path), "--json"])
    assert json.loads(capsys.readouterr().out)["findings"][0]["cause"] == "killed-for-memory"


def test_no_run_is_an_error_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.startswith("error[path-missing]: there is no run at")


def test_a_name_alone_is_looked_for_below_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Run(tmp_path / "runs" / "train-1").ended(0)
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "train-1"]) == 2
    assert capsys.readouterr().err.endswith("change  give runs/train-1\n")
    assert main(["compare", "runs/train-1", "trian-1"]) == 2
    assert capsys.readouterr().err.endswith("change  give runs/train-1\n")


@pytest.mark.parametrize("name", ["journal.jsonl", "vitals.jsonl", "beats", "verdict.json"])
def test_a_file_of_a_run_is_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    run = Run(tmp_path / "train-1")
    run.ended(0)
    (run.path / name).touch()
    assert main(["explain", str(run.path / name)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith(f"error[not-a-log]: {name} is one of the records of the run train-1")
    assert said.endswith(f"change holdfast explain {run.path}")


def test_a_program_is_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text("import keras\nprint('loss', 1)\n")
    assert main(["explain", str(tmp_path / "train.py")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error[not-a-log]: train.py is a program, and not what it printed")
    assert "holdfast run -- python" in said


def test_causes_lists_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["causes"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {cause.slug} " in text for cause in CAUSES)


def test_the_page_of_one_and_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["causes", "exit-hang"]) == 0
    assert "How to cure it" in capsys.readouterr().out
    assert main(["causes", "exithang"]) == 2
    assert "holdfast causes exit-hang" in capsys.readouterr().err


def test_every_slug_of_the_vocabulary_is_there() -> None:
    assert len({cause.slug for cause in CAUSES}) == len(CAUSES) >= 87


def test_explain_takes_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\nKeyError: 'x'\n"
    )
    assert main(["explain", str(log), "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["run"], verdict["outcome"]) == ("train.log", "failed")
    assert [(one["cause"], one["strength"]) for one in verdict["findings"]] == [("script-error", "supported")]
    assert verdict["findings"][0]["because"][0]["source"] == "train.log:3"


def test_explain_reads_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = io.TextIOWrapper(io.BytesIO(b"epoch 1/2 - loss 0.5\nepoch 2/2 - loss 0.4\n"))
    monkeypatch.setattr("sys.stdin", text)
    assert main(["explain", "-"]) == 0
    assert "stdin: finished" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "train.log is empty"),
        (b"  \n\n", "train.log is empty"),
        (b"\0" * 70_000, "train.log has no text"),
        (b"\x1b[0m\n\x1b[1m\n", "train.log has no text"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0", "train.log is not text"),
        (b"\x1f\x8b\x08\0", "train.log is compressed"),
    ],
)
def test_what_is_no_log_is_an_error_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, says: str
) -> None:
    (tmp_path / "train.log").write_bytes(content)
    assert main(["explain", str(tmp_path / "train.log")]) == 2
    assert capsys.readouterr().err.startswith(f"error[not-a-log]: {says}")


def test_a_folder_with_a_log_and_no_run_names_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.log").write_text("loss 0.5\n")
    assert main(["explain", str(tmp_path)]) == 2
    assert "train.log" in capsys.readouterr().err
