"""A record file that is truncated or corrupt, and which file it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, at_hand, facts, remedies, title_of

_TRUNCATED = "Graph execution error:\n\ntruncated record at 59944 [Op:IteratorGetNext]"


def example(run: Run) -> None:
    run.fit(data=ev.DatasetSeen(type="tf.data", cardinality=-2, files=["train.tfrecord"], file_count=1))
    run.raised("DataLossError", _TRUNCATED)


def near_miss(run: Run) -> None:
    run.raised(
        "DataLossError", "Unable to open table file ckpt-3: not an sstable (bad magic number): checkpoint"
    )


def test_the_only_file_of_the_dataset_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().title.values == {"file": "train.tfrecord", "truncated": True, "offset": 59944}
    assert run.first().strength == Strength.ESTABLISHED


@pytest.mark.parametrize("found", [True, False])
def test_of_several_files_it_is_the_one_that_the_probe_found(tmp_path: Path, found: bool) -> None:
    run = Run(tmp_path / "run")
    run.fit(
        data=ev.DatasetSeen(type="tf.data", cardinality=-2, files=["a.tfrecord", "b.tfrecord"], file_count=2)
    )
    if found:
        damaged = {"path": "b.tfrecord", "what": "a truncated record", "offset": 59944}
        run.probe(ev.BadFilesFound(files=[damaged], looked_at=2, of=2))
    run.raised("DataLossError", _TRUNCATED)
    first = run.first()
    assert first.title.values["file"] == ("b.tfrecord" if found else "")
    if found:
        assert facts(first)["file.damaged"]["offset"] == 59944
    else:
        assert facts(first)["file.one-of"] == {"count": 2, "files": ["a.tfrecord", "b.tfrecord"]}


def test_an_error_at_offset_0_is_another_format(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("DataLossError", "corrupted record at 0")
    assert run.first().title.values == {"file": "", "truncated": False, "offset": 0}
    assert "record.damaged-at-start" in facts(run.first())


def test_an_example_that_cannot_be_parsed_may_have_another_reason(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("InvalidArgumentError", "Could not parse example input, value: 'x'")
    assert (run.first().cause, run.first().strength) == ("corrupt-record", Strength.SUPPORTED)


def test_an_archive_of_arrays_is_no_record_file(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    at_hand(run, "data/train.npz")
    first = run.first()
    assert (run.slugs(), first.strength) == (["corrupt-record"], Strength.ESTABLISHED)
    assert title_of(first) == "the data file data/train.npz is cut off"
    assert facts(first)["file.taken-for"]["signs"] == ["its name train.npz", "its folder data"]
    assert remedies(first) == ["file.write-again", "file.write-and-rename"]


def test_a_file_of_arrays_that_may_hold_weights(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    at_hand(run, "out/blob.npz")
    found = [(one.cause, one.strength, title_of(one)) for one in run.verdict().findings]
    assert found == [
        (
            "corrupt-record",
            Strength.SUPPORTED,
            "the file out/blob.npz is cut off; whether it holds data or weights is not known",
        ),
        ("checkpoint-torn", Strength.POSSIBLE, "out/blob.npz may be a checkpoint"),
    ]


def test_a_dataset_of_compressed_text_is_no_record_file(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(data=ev.DatasetSeen(type="tf.data", cardinality=-2, files=["rows.csv.gz"], file_count=1))
    run.raised("DataLossError", "inflate() failed with error -3: invalid block type")
    assert title_of(run.first()) == "the file rows.csv.gz is corrupt"
