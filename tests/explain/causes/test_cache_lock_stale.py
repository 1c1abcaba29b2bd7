"""A lock file of tf.data's cache that a killed run left."""

from __future__ import annotations

from pathlib import Path

from tests.explain.made import Run, facts, pipeline, remedies


def example(run: Run) -> None:
    run.raised(
        "AlreadyExistsError",
        "Graph execution error:\n\nThere appears to be a concurrent caching iterator running - cache lockfile "
        "already exists ('cache/train_0.lockfile').",
    )


def near_miss(run: Run) -> None:
    run.raised("FileExistsError", "[Errno 17] File exists: 'cache'", errno=17)


def test_the_lock_file_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(data=pipeline({"op": "cache", "where": "train.py:12"}))
    example(run)
    first = run.first()
    assert first.title.values == {"file": "cache/train_0.lockfile"}
    assert facts(first)["pipeline.caches-to-file"] == {"where": "train.py:12"}
    assert remedies(first) == ["run.start-again", "cache.remove-locks"]
