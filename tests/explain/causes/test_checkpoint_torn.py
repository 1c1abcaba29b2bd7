"""A corrupt checkpoint: cut off, no zip file, or called missing by Keras though it is there."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, at_hand, facts, remedies, sentence, title_of


def example(run: Run) -> None:
    run.raised(
        "OSError",
        "Unable to synchronously open file (truncated file: eof = 96, sblock->base_addr = 0, stored_eof = "
        "31672) 'backup/latest.weights.h5'",
        user_code="model.load_weights(path)",
    )


def near_miss(run: Run) -> None:
    run.raised(
        "FileNotFoundError", "[Errno 2] No such file or directory: 'backup/latest.weights.h5'", errno=2
    )


def keras_calls_it_missing(path: Path, there: list[str]) -> Run:
    """Keras has the same words for a file that is not there and for one that is corrupt."""
    run = Run(path / "run")
    run.probe(
        ev.ExceptionRaised(
            type="ValueError", left="script", caught=False, user_line="train.py:16", paths=["old/last.keras"],
            message="File not found: filepath=old/last.keras. Please ensure the file is an accessible `.keras` zip "
            "file.",
            paths_there=there,
        )
    )  # fmt: skip
    run.ended(1)
    return run


def test_the_file_and_the_way_back(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"file": "backup/latest.weights.h5"}
    assert facts(first)["checkpoint.file"] == {"file": "backup/latest.weights.h5", "is_there": False}
    assert facts(first)["error.user-line"]["code"] == "model.load_weights(path)"
    assert remedies(first) == ["checkpoint.use-the-one-before", "checkpoint.keep-two"]


def test_a_file_that_keras_calls_missing_and_that_is_there(tmp_path: Path) -> None:
    run = keras_calls_it_missing(tmp_path, ["old/last.keras"])
    assert run.first().strength == Strength.ESTABLISHED
    assert facts(run.first())["checkpoint.file"] == {"file": "old/last.keras", "is_there": True}
    assert "path-missing" not in run.slugs()


def test_a_half_downloaded_archive_is_no_checkpoint(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    code = 'zipfile.ZipFile("coco.zip").extractall()'
    run.raised("BadZipFile", "File is not a zip file", user_line="train.py:8", user_code=code)
    assert run.blamed() == ["script-error"]


def test_a_checkpoint_of_tensorflow_with_too_few_bytes(tmp_path: Path) -> None:
    frames = ["train.py:19 <module>", "tensorflow/python/training/tracking/util.py:1299 restore"]
    run = Run(tmp_path / "run")
    run.raised("IndexError", "Read less bytes than requested", frames=frames)
    assert (run.first().cause, run.first().strength) == ("checkpoint-torn", Strength.ESTABLISHED)


def test_too_few_bytes_of_another_file_are_no_checkpoint(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised(
        "IndexError", "Read less bytes than requested", frames=["train.py:19 <module>", "train.py:4 parse"]
    )
    assert "checkpoint-torn" not in run.slugs()


def test_a_checkpoint_at_hand_that_ends_too_early(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    at_hand(run, "weights/encoder.npz", function="load_encoder")
    first = run.first()
    assert (first.cause, first.strength, run.slugs()) == (
        "checkpoint-torn",
        Strength.ESTABLISHED,
        ["checkpoint-torn"],
    )
    assert title_of(first) == "the checkpoint weights/encoder.npz is cut off"
    assert [sentence(fact) for fact in first.because[2:]] == [
        "weights/encoder.npz has 900 bytes: the directory at the end of the archive is missing",
        "it is taken for a checkpoint by its name encoder.npz, its folder weights, the function load_encoder",
    ]
    assert remedies(first) == ["file.write-again", "checkpoint.use-the-one-before", "file.write-and-rename"]


def test_a_file_that_may_be_either_is_called_a_file(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    at_hand(run, "out/blob.npz", function="load_best")
    found = [(one.cause, one.strength, title_of(one)) for one in run.verdict().findings]
    assert found == [
        (
            "checkpoint-torn",
            Strength.SUPPORTED,
            "the file out/blob.npz is cut off; whether it holds weights or data is not known",
        ),
        ("corrupt-record", Strength.POSSIBLE, "out/blob.npz may hold data"),
    ]
    assert remedies(run.first()) == ["file.write-again", "file.write-and-rename"]


def test_a_whole_file_at_hand_is_not_blamed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    at_hand(run, "run/state_0200.npz", missing="")
    assert "checkpoint-torn" not in run.slugs()


def handled_by_an_exit(run: Run, *, code: int = 1) -> None:
    run.probe(
        ev.ExceptionRaised(
            type="ValueError", message="Unpack failed: incomplete input", left="exit", caught=True,
            user_line="train.py:9", user_code="state = from_bytes(template, path.read_bytes())",
            frames=["train.py:30 <module>", "train.py:9 resume", "flax/serialization.py:431 msgpack_restore"],
        )
    )  # fmt: skip
    missing = "it has 37806 of 37816 bytes"
    run.probe(
        ev.AtHandSeen(files=[{"path": "state/step_000800.msgpack", "bytes": 37806, "missing": missing}])
    )
    run.probe(ev.ExitCalled(by="sys.exit", code=code, where="train.py:33", message="cannot continue"))


def test_an_error_that_the_script_turned_into_an_exit(tmp_path: Path) -> None:
    run = Run(tmp_path)
    handled_by_an_exit(run)
    run.ended(1)
    first = run.first()
    assert (first.cause, first.strength) == ("checkpoint-torn", Strength.ESTABLISHED)
    assert first.title.values == {"file": "state/step_000800.msgpack"}


def test_an_exit_that_was_caught_has_not_ended_it(tmp_path: Path) -> None:
    run = Run(tmp_path)
    handled_by_an_exit(run, code=3)
    run.fit()
    run.epochs([100])
    run.ended(0)
    assert "checkpoint-torn" not in run.slugs()
