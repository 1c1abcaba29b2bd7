"""Growth at every step: with the container that keeps it, without one, without harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Finding, Strength
from holdfast.explain.causes.memory.memory_leak import memory_leak
from holdfast.explain.gather import gather
from holdfast.journal import events as ev
from tests.explain.made import MIB, NOW, Run, facts, growing, pipeline, remedies


def example(run: Run) -> None:
    run.fit()
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(
        40, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10, epoch=lambda n: n // 10
    )
    for held in (100, 1200):
        item = {
            "name": "Keep.kept",
            "type": "list",
            "length": held // 2,
            "bytes": held * MIB,
            "where": "train.py:8",
        }
        run.probe(ev.HoldingsSeen(step=held // 3, items=[item]))
    run.ended(signal="SIGKILL", oom=1)


def near_miss(run: Run) -> None:
    """It rose in the first epoch, stayed there and finished."""
    run.fit()
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(10, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10)
    run.samples(
        20, rss_bytes=950 * MIB, phase="step", fit=1, step=lambda n: 10 * n + 110, epoch=lambda n: 1 + n // 10
    )
    run.epochs([100, 100, 100])
    run.ended(0)


def _grew(run: Run, *nodes: dict[str, Any], epochs: int = 4, code: int | None = None) -> None:
    run.fit(data=pipeline(*nodes))
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    steps = 40 // epochs
    run.samples(
        40, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10, epoch=lambda n: n // steps
    )
    if code is None:
        run.ended(signal="SIGKILL", oom=1)
    else:
        run.epochs([100] * 3)
        run.ended(code)


def _holdings(run: Run, *mib: int) -> None:
    for held in mib:
        item = {
            "name": "Keep.kept",
            "type": "list",
            "length": held // 2,
            "bytes": held * MIB,
            "where": "train.py:8",
        }
        run.probe(ev.HoldingsSeen(step=400, items=[item]))


def _found(run: Run) -> Finding:
    return next(one for one in run.verdict().findings if one.cause == "memory-leak")


def test_the_container_that_accounts_for_it_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.led_to) == (Strength.ESTABLISHED, "killed-for-memory")
    assert first.title.values["name"] == "Keep.kept"
    assert first.title.values["bytes"] == pytest.approx(3.4 * MIB, rel=0.02)
    assert facts(first)["memory.grew"]["when"] == "every-step"
    assert facts(first)["object.grew"] == {
        "name": "Keep.kept", "where": "train.py:8", "type": "list", "bytes": 1100 * MIB, "length": 600,
    }  # fmt: skip
    assert (first.remedies[0].kind, first.remedies[0].values) == ("object.bound", {"name": "Keep.kept"})


def test_without_a_container_it_is_supported_by_its_shape(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _grew(run)
    assert (run.first().cause, run.first().strength) == ("memory-leak", Strength.SUPPORTED)
    assert run.first().title.values["name"] == ""
    assert remedies(run.first()) == ["object.find-what-grows", "memory.other-allocator"]


@pytest.mark.parametrize(
    ("nodes", "strength"),
    [
        ([{"op": "map"}], Strength.SUPPORTED),
        ([{"op": "cache"}], Strength.POSSIBLE),
        ([{"op": "prefetch", "buffer_size": 2}], Strength.SUPPORTED),
        ([{"op": "prefetch", "buffer_size": 9}], Strength.POSSIBLE),
    ],
)
def test_in_the_first_epoch_a_buffer_may_be_what_fills(
    tmp_path: Path, nodes: list[dict[str, Any]], strength: Strength
) -> None:
    run = Run(tmp_path / "run")
    run.fit(data=pipeline(*nodes))
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(40, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10)
    run.ended(signal="SIGKILL", oom=1)
    alone = memory_leak.look(
        gather(run.path, now=NOW)
    )  # among all causes, one that names the buffer replaces it
    assert isinstance(alone, Finding) and alone.strength == strength


@pytest.mark.parametrize(("mib", "shown"), [(700, True), (200, False)])
def test_growth_that_did_no_harm_is_possible_at_most(tmp_path: Path, mib: int, shown: bool) -> None:
    run = Run(tmp_path / "run")
    _holdings(run, 0, mib)
    _grew(run, code=0)
    assert run.slugs() == (["memory-leak"] if shown else [])
    if shown:
        assert (_found(run).strength, _found(run).ends) == (Strength.POSSIBLE, False)
        assert [fact.kind for fact in _found(run).against] == ["memory.did-not-run-out"]


def test_growth_before_the_steps_rules_it_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.samples(8, rss_bytes=growing(200), phase="build")
    run.ended(signal="SIGKILL", oom=1)
    ruled_out = {one.cause: one for one in run.verdict().ruled_out}
    assert ruled_out["memory-leak"].kind == "memory-leak.not-at-steps"
    assert ruled_out["memory-leak"].values["bytes"] == 1400 * MIB
