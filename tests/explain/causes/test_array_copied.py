"""Arrays that `fit` copied, and that filled memory with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, growing, remedies


def example(run: Run) -> None:
    run.fit(steps=None, data=ev.DatasetSeen(type="array", array_bytes=900 * MIB, where="train.py:30"))
    run.samples(4, rss_bytes=1100 * MIB, phase="build")
    run.samples(5, rss_bytes=growing(180, 1100), phase="fill", fit=1)
    run.ended(signal="SIGKILL", oom=1)


def near_miss(run: Run) -> None:
    run.fit(data=ev.DatasetSeen(type="array", array_bytes=900 * MIB, where="train.py:30", cardinality=100))
    run.epochs([100, 100, 100])
    run.ended(0)


def _given(run: Run, array_bytes: int, *, steps: int = 0) -> None:
    run.fit(steps=None, data=ev.DatasetSeen(type="array", array_bytes=array_bytes, where="train.py:30"))
    run.samples(4, rss_bytes=1100 * MIB, phase="build")
    run.samples(5, rss_bytes=growing(180, 1100), phase="step" if steps else "fill", fit=1, step=steps)
    run.ended(signal="SIGKILL", oom=1)


def test_the_arrays_and_their_copy_fill_the_limit(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.led_to) == (Strength.ESTABLISHED, "killed-for-memory")
    assert facts(first)["fit.given-arrays"] == {"bytes": 900 * MIB, "where": "train.py:30"}
    assert facts(first)["memory.grew"]["when"] == "before-first-step"
    assert remedies(first) == ["array.feed-in-parts", "array.use-uint8"]


@pytest.mark.parametrize(("mib", "strength"), [(500, Strength.SUPPORTED), (800, Strength.ESTABLISHED)])
def test_twice_the_arrays_must_fill_most_of_the_limit(tmp_path: Path, mib: int, strength: Strength) -> None:
    run = Run(tmp_path / "run")
    _given(run, mib * MIB)
    assert (run.first().cause, run.first().strength) == ("array-copied", strength)


def test_small_arrays_are_not_blamed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _given(run, 100 * MIB)
    assert "array-copied" not in run.slugs()
