"""Where a file was to be written: what is missing is its folder, and a read-only disk is nobody's rights."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Finding
from holdfast.journal import events as ev
from tests.explain.made import Run, code_of, do_of, sentence, title_of

_GONE = "[Errno 2] No such file or directory: 'ck/w2.npz'"


def _missing(path: Path, code: str, *told: ev.Event) -> Finding:
    run = Run(path)
    run.probe(*told)
    run.raised("FileNotFoundError", _GONE, errno=2, user_code=code)
    return run.verdict().findings[0]


@pytest.mark.parametrize(
    "code",
    ["with open(f'ck/w{n}.npz', 'wb') as file:", 'open(name, mode="a")', "Path(name).write_text(text)"],
)
def test_a_file_that_was_to_be_written_lacks_its_folder(tmp_path: Path, code: str) -> None:
    found = _missing(tmp_path / "run", code)
    assert found.cause == "path-missing"
    assert title_of(found) == "ck/w2.npz cannot be written: its folder ck is not there"
    assert code_of(found.remedies[0]) == 'os.makedirs("ck", exist_ok=True)'


def test_so_does_one_whose_save_was_seen(tmp_path: Path) -> None:
    saved = ev.SaveFailed(path="ck/w2.npz", error=_GONE, errno=2, where="train.py:18")
    assert title_of(_missing(tmp_path / "run", "np.savez(name, a)", saved)).endswith(
        "its folder ck is not there"
    )


@pytest.mark.parametrize("code", ["open(name)", "open(name, 'rb')", "json.loads(open(wanted).read())"])
def test_a_file_that_was_to_be_read_is_itself_missing(tmp_path: Path, code: str) -> None:
    assert title_of(_missing(tmp_path / "run", code)) == "ck/w2.npz is not there"


def test_a_file_system_that_is_read_only_is_no_matter_of_rights(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("OSError", "[Errno 30] Read-only file system: 'mnt/best.keras'", errno=30)
    found = run.verdict().findings[0]
    assert found.cause == "permission-denied"
    assert title_of(found) == "mnt/best.keras cannot be written: its file system is mounted read-only"
    assert code_of(found.remedies[0]) == "findmnt -T mnt"


def test_an_element_that_does_not_fit_is_looked_for_in_the_generator(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    node = {"op": "generator", "function": "gen", "where": "train.py:14", "python": True}
    run.fit(data=ev.DatasetSeen(type="tf.data", nodes=[node], where="train.py:18"))
    message = "`generator` yielded an element of shape (2,) where an element of shape () was expected."
    run.raised("TypeError", message, user_line="train.py:18")
    found = run.verdict().findings[0]
    assert found.cause == "script-error"
    assert "the generator is gen, at train.py:14" in [sentence(fact) for fact in found.because]
    assert (
        do_of(found.remedies[0]) == "change what gen yields (train.py:14), or the signature that it was given"
    )
