"""What people who had read nothing but the README stumbled over."""

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
from holdfast.journal.stack_files import Frame
from holdfast.report.comparison import lines
from holdfast.supervise import script_snapshot
from tests.explain.made import (
    MIB,
    NOW,
    Run,
    changes_of,
    main_in_fit,
    python_thread,
    sentence,
    summary_of,
    user,
)
from tests.explain.test_compare import _later

QUEUE = Frame("/usr/lib/python3.11/queue.py", 171, "Queue.get")
LOCK = Frame("/usr/lib/python3.11/threading.py", 327, "Condition.wait")


# -- a queue that nobody fills ----------------------------------------------------------------------


# -- how long it stands ------------------------------------------------------------------------------


def test_a_stall_grows_older_while_it_is_looked_at(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.stalled("step", main_in_fit(), python_thread(4002, LOCK, QUEUE, user(15, "gen", "yield q.get()")))
    assert "did not move for 90 s" in summary_of(run.verdict())
    stalled = gather(run.path, now=NOW).stall
    assert stalled is not None
    run.samples(400, rss_bytes=MIB, phase="step")  # one a second, from second 101 on
    evidence = gather(run.path, now=NOW)
    assert evidence.silent_for_s == 90.0 + (500.0 - stalled.mono)
    assert f"did not move for {evidence.silent_for_s / 60:.0f} min (noticed after 90 s)" in summary_of(
        run.verdict()
    )


def test_what_a_group_found_slow_stands_in_the_verdict_of_a_run_that_finished(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    for trip in (200, 400):
        words = f"a message to process 1 on b and back takes {trip} ms"
        run.supervisor(ev.GroupRemark(remark="slow-link", ranks=[1], text=words))
    run.ended(code=0)
    assert [sentence(one) for one in run.verdict().known if "message" in sentence(one)] == [
        "a message to process 1 on b and back takes 400 ms"
    ]


# -- two runs ----------------------------------------------------------------------------------------


def _good(path: Path, script: str = "") -> Run:
    run = Run(path)
    if script:
        _keeps(run, script)
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
        _keeps(run, script)
    run.samples(2, rss_bytes=80 * MIB)
    run.raised("ModuleNotFoundError", "No module named 'model'")
    _later(run.path)
    return run


def _keeps(run: Run, text: str) -> None:
    script = run.path.parent / "train.py"
    script.write_text(text)
    read = script_snapshot.snapshot_script(["python", "train.py"], RunFolder(run.path), cwd=run.path.parent)
    assert read is not None
    run.supervisor(read)


def test_what_a_failed_start_never_saw_is_no_difference(tmp_path: Path) -> None:
    _good(tmp_path / "a")
    run = _failed_start(tmp_path / "b")
    assert changes_of(explain(run.path, now=NOW)) == []


def test_the_edited_line_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


# -- which file is the script ------------------------------------------------------------------------


def test_the_script_of_a_command(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "train.py").write_text("")
    assert (
        script_snapshot.script_of(["python", "-u", "train.py", "--lr", "1"], tmp_path)
        == tmp_path / "train.py"
    )
    assert script_snapshot.script_of(["python", "-m", "pkg.train"], tmp_path) == tmp_path / "pkg" / "train.py"
    assert script_snapshot.script_of(["./train.sh"], tmp_path) is None
    assert script_snapshot.script_of(["python", "gone.py"], tmp_path) is None
    assert script_snapshot.script_of(["python", "-c", "import os; " * 1000 + "open('x.py"], tmp_path) is None
    assert script_snapshot.script_of(["python", "-c", "print(1)  # " + "x" * 9000 + ".py"], tmp_path) is None
    assert script_snapshot.script_of(["python", "-m", "a\0b"], tmp_path) is None
    assert script_snapshot.script_of(["python", "-m", ".."], tmp_path) is None


def test_a_script_that_is_too_large_is_digested_only(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(b"#" * (script_snapshot.MAX_SNAPSHOT_BYTES + 1))
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    read = script_snapshot.snapshot_script(["python", "train.py"], folder, cwd=tmp_path)
    assert (
        read is not None
        and read.kept == ""
        and read.digest.endswith(f"-{script_snapshot.MAX_SNAPSHOT_BYTES + 1}")
    )
    assert not folder.source.exists()
