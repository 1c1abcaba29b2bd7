"""The commands explain and causes, as a shell sees them."""

from __future__ import annotations

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
