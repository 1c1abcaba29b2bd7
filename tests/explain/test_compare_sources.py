"""Two runs compared: their scripts and recipes, and what one of them ended before."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli import main as command_line
from holdfast.explain import explain
from holdfast.explain.compare.differences import compare
from holdfast.explain.compare.portrait import portray
from holdfast.explain.gather import gather, sources
from holdfast.journal import events as ev
from holdfast.journal.folder import RunFolder
from holdfast.report.comparison import lines
from holdfast.supervise import script_snapshot
from tests.explain.made import MIB, NOW, Run, changes_of
from tests.explain.test_compare import _later


def _good(path: Path, script: str = "") -> Run:
    run = Run(path)
    if script:
        _snapshot(run, script)
    run.probe(ev.FrameworkSeen(name="keras", version="3.15.1", versions={"numpy": "2.4.6"}))
    run.probe(ev.ModelSeen(parameters=1000, trainable_parameters=1000, optimizer="adam"))
    run.fit()
    run.samples(20, rss_bytes=900 * MIB, phase="step", fit=1, step=lambda n: 15 * n + 15)
    run.epochs([100, 100, 100])
    run.ended(0)
    return run


def _failed_start(path: Path, script: str = "") -> Run:
    run = Run(path)
    if script:
        _snapshot(run, script)
    run.samples(2, rss_bytes=80 * MIB)
    run.raised("ModuleNotFoundError", "No module named 'model'")
    _later(run.path)
    return run


def _snapshot(run: Run, text: str) -> None:
    script = run.path.parent / "train.py"
    script.write_text(text)
    read = script_snapshot.snapshot_script(["python", "train.py"], RunFolder(run.path), cwd=run.path.parent)
    assert read is not None
    run.supervisor(read)


def test_what_a_failed_start_never_saw_is_no_difference(tmp_path: Path) -> None:
    _good(tmp_path / "a")
    run = _failed_start(tmp_path / "b")
    assert changes_of(explain(run.path, now=NOW)) == []


def test_the_edited_line_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = _good(tmp_path / "a", "import model\nrate = 1e-3\nsteps = 9\nmodel.fit(rate, steps)\n")
    bad = _failed_start(
        tmp_path / "b", "import model\nrate = 1e-1\nsteps = 8\nmodel.fit(rate, steps)\nprint('done')\n"
    )
    assert changes_of(explain(bad.path, now=NOW)) == [
        "the last good run of this script, a:",
        "script: train.py:2: `rate = 1e-3` before, `rate = 1e-1` now",
        "script: train.py:3: `steps = 9` before, `steps = 8` now",
        "script: train.py:5: nothing before, `print('done')` now",
    ]
    assert command_line.main(["compare", str(good.path), str(bad.path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "before, a: finished; ended by itself, 300 of 300 steps done" in said
    assert "now, b: failed; ended with exit code 1" in said
    assert "script-error: " in said
    assert "not compared: the data, the model, the arguments of fit, the versions: not seen in b" in said
    assert "memory at its peak" not in said


def test_a_module_beside_the_script_is_noticed_by_its_digest(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("layers = 3\n")
    old = _good(tmp_path / "a", "import model\n")
    (tmp_path / "model.py").write_text("layers = 4\n")
    new = _good(tmp_path / "b", "import model\n")
    portraits = [portray(gather(one.path, now=NOW), sources(one.path)) for one in (old, new)]
    assert lines(compare(*portraits), everything=False) == [
        "script: model.py was edited; its text was not kept",
    ]


def test_settings_of_a_recipe_are_compared(tmp_path: Path) -> None:
    old, new = _good(tmp_path / "a"), _good(tmp_path / "b")
    (old.path / "recipe.toml").write_text("[train]\nbatch = 8\nsteps = 100\n")
    (new.path / "recipe.toml").write_text("[train]\nbatch = 16\nsteps = 100\n")
    portraits = [portray(gather(one.path, now=NOW), sources(one.path)) for one in (old, new)]
    assert lines(compare(*portraits), everything=False) == ["recipe: train.batch: 8 before, 16 now"]
