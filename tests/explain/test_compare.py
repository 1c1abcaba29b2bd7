"""Two runs compared by hand-made numbers, and the last good run found among neighbours."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli import main as command_line
from holdfast.explain import explain, judge
from holdfast.explain.compare.differences import compare
from holdfast.explain.compare.last_good import last_good, script_of
from holdfast.explain.compare.portrait import Portrait, portray
from holdfast.explain.gather import gather
from holdfast.journal import events as ev
from holdfast.report.comparison import lines
from holdfast.report.comparison import render as render_comparison
from tests.explain.made import GIB, MIB, NOW, Run, changes_of, pipeline


def _run(path: Path, *, shuffle: int, batch: int = 4, peak: int = 800, code: int | None = 0) -> Path:
    run = Run(path)
    run.probe(
        ev.FrameworkSeen(
            name="keras", version="3.15.1", versions={"numpy": "2.4.6" if code == 0 else "2.5.0"}
        )
    )
    run.probe(
        ev.ModelSeen(
            parameters=1_000_000,
            trainable_parameters=1_000_000,
            optimizer="adam",
            input_shape=[None, 64, 64, 3],
        )
    )
    run.fit(
        data=pipeline(
            {"op": "shuffle", "buffer_size": shuffle, "element_bytes": MIB},
            {"op": "batch", "batch_size": batch},
        )
    )
    run.samples(3, rss_bytes=500 * MIB, phase="build")
    run.samples(5, rss_bytes=lambda n: (500 + (peak - 500) * (n + 1) // 5) * MIB, phase="fill", fit=1)
    run.samples(
        9,
        rss_bytes=peak * MIB,
        phase="step",
        fit=1,
        step=lambda n: 30 * n + 30,
        data_wait_s=lambda n: 0.3 * n,
        compute_s=lambda n: 3.0 * n,
    )
    if code == 0:
        run.epochs([100, 100, 100])
        run.ended(0)
    else:
        run.ended(signal="SIGKILL", oom=1)
    return path


def _portrait(path: Path) -> Portrait:
    return portray(gather(path, now=NOW))


def test_numbers_are_as_they_were_written_and_not_as_float32_keeps_them() -> None:
    from holdfast.explain.compare.differences import Change, Difference
    from holdfast.report.comparison import difference_line

    rate = Difference("training: learning rate", 0.009999999776482582, 50.0, Change.SETTING)
    assert difference_line(rate) == "training: learning rate: 0.01 before, 50 now"


def test_a_larger_shuffle_buffer_accounts_for_the_memory(tmp_path: Path) -> None:
    old = _portrait(_run(tmp_path / "monday", shuffle=100))
    new = _portrait(_run(tmp_path / "tuesday", shuffle=1000, peak=1700))
    found = compare(old, new)
    assert found.memory_change == 900 * MIB
    effect = next(one for one in found.effects if one.values.get("op") == "shuffle")
    # 100 elements is what the source holds at most (cardinality 100): the buffer never holds more
    assert effect.known == "estimated"
    assert [one.what for one in found.differences if one.what == "pipeline"] == ["pipeline"]


def test_parameters_and_slots_are_counted() -> None:
    old = Portrait("a", parameters=10_000_000, trainable=10_000_000, slots=0, peak_bytes=GIB, base_bytes=0)
    new = Portrait(
        "b", parameters=30_000_000, trainable=30_000_000, slots=2, peak_bytes=GIB + 400_000_000, base_bytes=0
    )
    amounts = {one.kind: one.amount for one in compare(old, new).effects}
    assert amounts["model.parameters"] == 160_000_000
    assert amounts["optimizer.slots"] == 240_000_000
    shares = [compare(old, new).of(one) for one in compare(old, new).effects]
    assert shares == [0.6, 0.4]


def test_a_doubled_batch_doubles_the_activations() -> None:
    base: dict[str, Any] = {"input_values": 1000, "base_bytes": 500 * MIB}
    old = Portrait("a", batch=8, peak_bytes=1500 * MIB, step_s=0.1, wait_s=0.02, **base)
    new = Portrait("b", batch=16, peak_bytes=2500 * MIB, step_s=0.2, wait_s=0.04, **base)
    found = compare(old, new)
    memory = next(one for one in found.effects if one.on == "memory")
    assert (memory.amount, memory.known, found.of(memory)) == (1000 * MIB, "estimated", 1.0)
    time = {one.kind: round(one.amount, 3) for one in found.effects if one.on == "time"}
    assert time == {"step.computing": 0.08, "step.values": 0.08, "step.data-wait": 0.02}


def test_equal_runs_differ_in_nothing(tmp_path: Path) -> None:
    found = compare(
        _portrait(_run(tmp_path / "a", shuffle=100)), _portrait(_run(tmp_path / "b", shuffle=100))
    )
    assert (found.differences, found.effects, found.memory_change) == ((), (), 0)


def test_the_text_and_the_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (
        _run(tmp_path / "monday", shuffle=10),
        _run(tmp_path / "tuesday", shuffle=90, peak=900, code=None),
    )
    assert command_line.main(["compare", str(old), str(new)]) == 0
    text = capsys.readouterr().out
    folded = " ".join(text.split())
    assert "before, monday: finished; ended by itself, 300 of 300 steps done" in folded
    assert "now, tuesday: killed; ended by SIGKILL, 270 of 300 steps done" in folded
    assert "; killed-for-memory: " in folded
    assert "  memory at its peak: 800 MiB before, 900 MiB now (+100 MiB)" in text.splitlines()
    assert "+80.0 MiB, 80 % of the change: shuffle: holds 90.0 MiB when full" in " ".join(text.split())
    assert "version: numpy: 2.4.6 before, 2.5.0 now" in text
    assert command_line.main(["compare", str(old), str(new), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["memory"]["change_bytes"] == 100 * MIB
    assert [found["ended"][which]["outcome"] for which in ("old", "new")] == ["finished", "killed"]
    assert {"what": "version: numpy", "old": "2.4.6", "new": "2.5.0"} in found["differences"]


def test_the_last_good_run_of_the_script_is_found(tmp_path: Path) -> None:
    good = _run(tmp_path / "monday", shuffle=10)
    bad = _run(tmp_path / "tuesday", shuffle=1000, peak=1900, code=None)
    _later(bad)
    os.utime(good, (NOW, NOW))
    found = last_good(gather(bad, now=NOW), judge)
    assert found is not None and found.name == "monday"
    changes = changes_of(explain(bad, now=NOW))
    assert changes[0] == "the last good run of this script, monday:"
    assert any(
        "pipeline: shuffle(10) > batch(4) before, shuffle(1000) > batch(4) now" in line for line in changes
    )


def _later(path: Path) -> None:
    """Moves the run's opening behind those of its neighbours."""
    lines = (path / "journal.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first["at"] += 500
    (path / "journal.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")


@pytest.mark.parametrize(
    ("command", "script"),
    [
        (["/venv/bin/python", "-u", "src/train.py", "--lr", "0.1"], ("train.py",)),
        (["python", "-m", "holdfast.train", "recipe.toml"], ("holdfast.train",)),
        (["./run", "now"], ("run",)),
    ],
)
def test_what_counts_as_the_same_script(command: list[str], script: tuple[str, ...]) -> None:
    assert script_of(command) == script


def test_nothing_recorded_is_said(tmp_path: Path) -> None:
    found = compare(Portrait("a"), Portrait("b"))
    assert lines(found) == []
    assert render_comparison(found) == "compare: a and b\n  nothing that is recorded differs\n"
