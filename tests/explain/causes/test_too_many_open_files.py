"""More open files than the limit allows."""

from __future__ import annotations

from pathlib import Path

from tests.explain.made import MIB, Run, facts, remedies


def example(run: Run) -> None:
    run.samples(
        10, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: n, open_files=lambda n: 20 + 10 * n
    )
    run.raised("OSError", "[Errno 24] Too many open files: 'train/0017.jpg'", errno=24)


def near_miss(run: Run) -> None:
    run.raised("FileNotFoundError", "[Errno 2] No such file or directory: 'train/0017.jpg'", errno=2)


def test_the_course_and_the_limit(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", rlimits={"nofile": 1024})
    example(run)
    first = run.first()
    assert first.title.values == {"limit": 1024}
    assert facts(first)["files.open"] == {"first": 20, "last": 110}
    assert facts(first)["limit.open-files"] == {"limit": 1024}
    assert remedies(first) == ["file.close", "limit.raise-open-files"]


def test_the_error_s_number_is_enough(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("OSError", "accept failed", errno=24)
    assert run.first().cause == "too-many-open-files"
