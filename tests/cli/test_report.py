"""`holdfast report` of a run folder that somebody else made: nothing but the report is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli import main as cli
from holdfast.errors import ExitCode

MINE = "ssh-ed25519 AAAAmine me\n"


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    run = tmp_path / "theirs"
    run.mkdir()
    (run / "output.log").write_text("hello\nssh-ed25519 AAAAattacker key\nbye\n")
    (tmp_path / "authorized_keys").write_text(MINE)
    return run


@pytest.mark.parametrize("name", ["report.html.part", "report.html", ".report.html.new", ".report.html.part"])
def test_a_link_in_the_folder_is_not_written_through(tmp_path: Path, theirs: Path, name: str) -> None:
    (theirs / name).symlink_to("../authorized_keys")
    assert cli.main(["report", str(theirs)]) == ExitCode.FINE
    assert (tmp_path / "authorized_keys").read_text() == MINE
    page = theirs / "report.html"
    assert not page.is_symlink() and "AAAAattacker" in page.read_text()


def test_output_that_utf8_has_not_is_no_reason_for_no_report(theirs: Path) -> None:
    (theirs / "output.log").write_bytes(b"caf\xe9 \xff\n")
    assert cli.main(["report", str(theirs)]) == ExitCode.FINE
    assert "Holdfast</title>" in (theirs / "report.html").read_text(encoding="utf-8")


def test_a_folder_that_may_not_be_written_to_is_no_dead_end(
    theirs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("holdfast.atomic_write.write_text", refuse)
    assert cli.main(["report", str(theirs)]) == ExitCode.COULD_NOT
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith("error[permission-denied]: permission denied: ")
    assert f"change holdfast report {theirs} --output report.html writes it here" in said
