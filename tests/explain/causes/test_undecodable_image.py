"""An image that cannot be decoded, and which file it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies

_JPEG = (
    "Graph execution error:\n\nDetected at node IteratorGetNext\njpeg::Uncompress failed. Invalid JPEG data "
    "or crop window.\n\t [[{{node DecodeJpeg}}]]"
)


def example(run: Run) -> None:
    run.fit(data=ev.DatasetSeen(type="tf.data", cardinality=100, files=["a.jpg", "b.jpg"], file_count=2))
    damaged = {"path": "train/b.jpg", "what": "a JPEG without its end", "bytes": 40}
    run.probe(ev.BadFilesFound(files=[damaged], looked_at=2, of=2))
    run.raised("InvalidArgumentError", _JPEG)


def near_miss(run: Run) -> None:
    """A library's line about a damaged image that did not end it."""
    run.output("Corrupt JPEG data: 2692 extraneous bytes before marker 0xd9\n")
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)


def test_the_file_that_the_probe_found(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"file": "train/b.jpg"}
    assert facts(first)["file.damaged"]["what"] == "a JPEG without its end"
    assert remedies(first) == ["image.replace", "image.leave-out"]


@pytest.mark.parametrize(
    ("kind", "message", "paths", "file"),
    [
        ("InvalidArgumentError", _JPEG, [], ""),
        ("InvalidArgumentError", _JPEG, ["list.txt", "train/c.png"], "train/c.png"),
        ("UnidentifiedImageError", "cannot identify image file 'train/d.png'", [], "train/d.png"),
    ],
)
def test_which_file_it_is(tmp_path: Path, kind: str, message: str, paths: list[str], file: str) -> None:
    run = Run(tmp_path / "run")
    run.raised(kind, message, paths=paths)
    first = run.first()
    assert (first.cause, first.title.values) == ("undecodable-image", {"file": file})
    assert ("file.named" in facts(first), "file.unnamed" in facts(first)) == (bool(file), not file)
    assert remedies(first)[0] == ("image.replace" if file else "image.find")
