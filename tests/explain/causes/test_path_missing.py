"""A path that is not there: read, written to, given by the environment, waited for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame
from tests.explain.causes.test_checkpoint_torn import keras_calls_it_missing
from tests.explain.made import Run, facts, main_in_fit, remedies


def example(run: Run) -> None:
    run.raised(
        "FileNotFoundError",
        "[Errno 2] No such file or directory: 'None/train.json'",
        errno=2,
        user_code="open(path)",
    )


def near_miss(run: Run) -> None:
    run.raised("ModuleNotFoundError", "No module named 'cv2'")


_GONE = "[Errno 2] No such file or directory: 'ck/w2.npz'"


def _missing(path: Path, code: str, *events: ev.Event) -> Run:
    run = Run(path)
    run.probe(*events)
    run.raised("FileNotFoundError", _GONE, errno=2, user_code=code)
    return run


def test_a_path_that_holds_none(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().title.values == {"path": "None/train.json"}
    assert "path.holds-none" in facts(run.first())


@pytest.mark.parametrize(
    "code",
    ["with open(f'ck/w{n}.npz', 'wb') as file:", 'open(name, mode="a")', "Path(name).write_text(text)"],
)
def test_a_file_that_was_to_be_written_lacks_its_folder(tmp_path: Path, code: str) -> None:
    first = _missing(tmp_path / "run", code).first()
    assert (first.title.kind, first.title.values) == (
        "path-missing.folder",
        {"path": "ck/w2.npz", "folder": "ck"},
    )
    assert (first.remedies[0].kind, first.remedies[0].values) == ("folder.make", {"folder": "ck"})


def test_so_does_one_whose_save_was_seen(tmp_path: Path) -> None:
    saved = ev.SaveFailed(path="ck/w2.npz", error=_GONE, errno=2, where="train.py:18")
    assert _missing(tmp_path / "run", "np.savez(name, a)", saved).first().title.kind == "path-missing.folder"


@pytest.mark.parametrize("code", ["open(name)", "open(name, 'rb')", "json.loads(open(wanted).read())"])
def test_a_file_that_was_to_be_read_is_itself_missing(tmp_path: Path, code: str) -> None:
    first = _missing(tmp_path / "run", code).first()
    assert (first.title.kind, first.title.values) == ("path-missing", {"path": "ck/w2.npz"})
    assert remedies(first) == ["path.check"]


def test_a_model_file_that_is_missing_is_missing(tmp_path: Path) -> None:
    run = keras_calls_it_missing(tmp_path, [])
    assert (run.first().cause, run.first().strength) == ("path-missing", Strength.ESTABLISHED)
    assert run.first().title.values == {"path": "old/last.keras"}
    assert "checkpoint-torn" not in run.slugs()


def test_a_variable_of_the_environment(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("KeyError", "'DATA_DIR'", frames=["<frozen os>:679 __getitem__"])
    first = run.first()
    assert (first.title.kind, first.title.values) == ("path-missing.variable", {"name": "DATA_DIR"})
    assert remedies(first)[0] == "variable.set"


def test_a_checkpoint_that_is_waited_for(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.stalled("build", main_in_fit(Frame("checkpoint_utils.py", 180, "wait_for_new_checkpoint")))
    run.stopped()
    path_missing = [one for one in run.verdict().findings if one.cause == "path-missing"]
    assert [one.title.kind for one in path_missing] == ["path-missing.checkpoint"]


def test_a_month_in_a_path_is_no_guess(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("FileNotFoundError", "[Errno 2] No such file or directory: '/data/2024/may/train.csv'")
    assert run.blamed() == ["path-missing"]


def test_a_launchers_word_for_what_ended_its_child_is_not_the_cause(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    missing = "[Errno 2] No such file or directory: 'labels/classes.txt'"
    run.probe(
        ev.ExceptionRaised(
            type="FileNotFoundError",
            message=missing,
            errno=2,
            left="script",
            caught=False,
            user_line="work.py:4",
        )
    )
    _written_by_another_process(run)
    run.raised(
        "CalledProcessError", "Command '['/usr/bin/python', 'work.py']' returned non-zero exit status 1."
    )
    first = run.first()
    assert (first.cause, first.title.values["path"]) == ("path-missing", "labels/classes.txt")
    assert facts(first)["error.user-line"]["line"] == "work.py:4"


def _written_by_another_process(run: Run) -> None:
    """What was written so far was written by a process of another number."""
    journal = run.path / "journal.jsonl"
    lines = journal.read_text().splitlines()
    lines[-1] = re.sub(r'"pid": \d+', '"pid": 77', lines[-1], count=1)
    journal.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("type_", "message", "path"),
    [
        (
            "RuntimeError",
            "Did not find any input files matching the glob pattern ['/d/no-*.record']",
            "/d/no-*.record",
        ),
        ("ValueError", "Could not find checkpoint file at 'models/ssd/ckpt-0'", "models/ssd/ckpt-0"),
        ("RuntimeError", "No image files found in '/data/train/images'", "/data/train/images"),
        ("ValueError", "The folder '/data/train' does not exist", "/data/train"),
    ],
)
def test_what_a_program_says_itself_of_a_path(tmp_path: Path, type_: str, message: str, path: str) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.ExceptionRaised(type=type_, message=message, left="script", user_line="data.py:82"))
    run.ended(1)
    first = run.first()
    assert (first.cause, first.title.values) == ("path-missing", {"path": path})


@pytest.mark.parametrize(
    "message",
    ["could not find a file format for 'x'", "no files/second were measured", "the key 'a/b' does not fit"],
)
def test_other_words_are_no_missing_path(tmp_path: Path, message: str) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.ExceptionRaised(type="ValueError", message=message, left="script", user_line="data.py:82"))
    run.ended(1)
    assert run.first().cause == "script-error"


def test_a_file_that_was_never_best(tmp_path: Path) -> None:
    """Its metric was NaN in every epoch: that, and no path, is what went wrong."""
    run = Run(tmp_path / "run")
    settings = {"monitor": "val_loss", "save_best_only": True, "filepath": "best.keras"}
    run.fit(epochs=2, callbacks=[{"class": "ModelCheckpoint", "settings": settings}])
    run.probe(ev.NonFiniteSeen(what="loss", value="nan", step=7))
    for epoch in range(2):
        run.probe(ev.EpochDone(epoch=epoch, steps=100, logs={"loss": "nan", "val_loss": "nan"}))
    run.probe(ev.FitDone(steps=200, epochs=2, epochs_done=2, steps_by_epoch=[100, 100]))
    message = "[Errno 2] No such file or directory: 'best.keras'"
    run.raised("FileNotFoundError", message, paths=["best.keras"], errno=2)
    assert run.slugs()[:2] == ["loss-not-finite", "path-missing"]


@pytest.mark.parametrize(
    ("failed", "cause"),
    [
        (ev.SaveFailed(path="out/best.pt", error="OSError: No space left on device", errno=28), "disk-full"),
        (
            ev.SaveFailed(path="out/best.pt", error="PermissionError: out/best.pt", errno=13),
            "permission-denied",
        ),
        (
            ev.SaveFailed(path="out/other.pt", error="OSError: No space left on device", errno=28),
            "path-missing",
        ),
    ],
)
def test_a_file_whose_save_had_failed(tmp_path: Path, failed: ev.SaveFailed, cause: str) -> None:
    """The script caught that, and misses the file later."""
    run = Run(tmp_path / "run")
    run.fit()
    run.probe(failed)
    message = "[Errno 2] No such file or directory: 'out/best.pt'"
    run.raised("FileNotFoundError", message, paths=["out/best.pt"], errno=2)
    assert run.first().cause == cause
    assert "path-missing" in run.slugs()


@pytest.mark.parametrize(
    "message",
    [
        "An error occurred (NoSuchBucket) when calling the ListObjectsV2 operation: …",
        "An error occurred (404) when calling the HeadObject operation: Not Found",
        "The specified blob does not exist. ErrorCode:BlobNotFound",
    ],
)
def test_what_an_object_store_does_not_have(tmp_path: Path, message: str) -> None:
    run = Run(tmp_path / "run")
    run.raised("ClientError", message)
    assert run.slugs() == ["path-missing"]
