"""`%%holdfast` in a real kernel and in IPython: live, at the end, after an error, an interruption and a dead kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbclient")

from nbclient.exceptions import DeadKernelError

from holdfast.errors import UsageError
from holdfast.journal import reader
from holdfast.journal.events import RunClosed, ScriptRead
from holdfast.notebook import cell_magic
from tests.notebook.kernels import raised, run_cells, shown
from tests.waiting import PATIENCE_S, until

LOAD = "%load_ext holdfast"
SLEEPS = "for _ in range(6000): time.sleep(0.1)"
#: Waits until the block is watched.
WATCHED = "[time.sleep(0.05) for _ in iter(lambda: os.path.exists('runs/notebook-1/vitals.jsonl'), True)]"


def signalled(name: str) -> str:
    return (
        "%%holdfast\nimport os, signal, threading, time\n"
        f"threading.Thread(target=lambda: ({WATCHED}, os.kill(os.getpid(), signal.{name}))).start()\n{SLEEPS}"
    )


def test_control_characters_of_an_exception_are_shown(tmp_path: Path) -> None:
    raises = "raise ValueError('\\x1b]0;owned\\x07 \\udcff')"
    outputs = run_cells(tmp_path, LOAD, f"%%holdfast runs/a\n{raises}", "%holdfast runs/a")
    for one in (shown(outputs[1]), shown(outputs[1], "text/html"), shown(outputs[2])):
        assert not {"\x1b", "\x07", "\udcff"} & set(one)
        assert "\\u001b]0;owned\\u0007 \\udcff" in " ".join(one.split())


def test_cells_run_as_without_it_and_get_a_verdict(tmp_path: Path) -> None:
    outputs = run_cells(
        tmp_path, LOAD, "%%holdfast\nx = 6\nx * 7", "%%holdfast runs/mine --no-view\ny = x", "%%holdfast\n1 / 0",
        "%%holdfast\nx =", "%%holdfast --stall-after none\nx", "%%holdfast --most 3\nx", "%holdfast runs/mine",
        "%holdfast", "y",
    )  # fmt: skip
    plain = [" ".join(shown(one).split()) for one in outputs]
    assert plain[0] == ""
    assert plain[1].startswith("verdict[finished]") and plain[1].endswith(" 42")
    assert shown(outputs[1], "text/html").startswith('<div style="')
    assert "mine: finished" in plain[2] and plain[9] == "6"
    assert raised(outputs[3]) == ["ZeroDivisionError"]
    assert "verdict[script-error]: ZeroDivisionError at cell:2: division by zero" in plain[3]
    traceback = "\n".join(outputs[3][-1].traceback)
    assert "cell_magic.py" not in traceback, "a traceback begins at the cell"
    assert raised(outputs[4]) == ["SyntaxError"]
    assert "--stall-after wants seconds above 0" in outputs[5][0].text
    assert "does not know --most" in outputs[6][0].text
    assert "mine: finished" in plain[7] and "notebook-2: failed" in plain[8]
    assert "ZeroDivisionError at cell:2" in plain[8], "later too, when the temporary file of the cell is gone"
    assert "/tmp/" not in (tmp_path / "runs/notebook-2/verdict.json").read_text()
    verdict = json.loads((tmp_path / "runs/mine/verdict.json").read_text())
    assert verdict["outcome"] == "finished", "the board knows it"
    assert (tmp_path / "runs/mine/source/notebook.py").read_text() == "y = x\n"
    events = [entry.event for entry in reader.read(tmp_path / "runs/mine/journal.jsonl")]
    assert any(isinstance(event, ScriptRead) and event.kept == "notebook.py" for event in events)


def test_an_interrupted_cell(tmp_path: Path) -> None:
    _, outputs = run_cells(tmp_path, LOAD, signalled("SIGINT"))
    assert raised(outputs) == ["KeyboardInterrupt"]
    said = " ".join(shown(outputs).split())
    assert "verdict[terminal-signal]: it was interrupted: the stop button, or Ctrl-C" in said
    assert "cell:4" in said and "setsid" not in said


def test_a_dead_kernel_is_explained_after_the_restart_once(tmp_path: Path) -> None:
    with pytest.raises(DeadKernelError):
        run_cells(tmp_path, LOAD, signalled("SIGKILL"))
    journal = tmp_path / "runs/notebook-1/journal.jsonl"
    until(lambda: isinstance(reader.read(journal)[-1].event, RunClosed), "the end of the record")
    (outputs,) = run_cells(tmp_path, LOAD)
    said = " ".join(shown(outputs).split())
    assert said.startswith("A cell of this folder never ended.")
    assert "the process ended inside the block: its kernel was restarted" in said
    assert run_cells(tmp_path, LOAD) == [[]], "said once"


def test_the_live_view_is_replaced_and_not_repeated(tmp_path: Path) -> None:
    code = (
        "%%holdfast\nimport os, time\nfrom holdfast.notebook.live_view import LiveView\n"
        f"{WATCHED}\nfrom pathlib import Path\nbundles = []\n"
        "view = LiveView(Path('runs/notebook-1'), lambda *shown: bundles.append(shown), every_s=0.05)\n"
        "view.start(); [time.sleep(0.05) for _ in iter(lambda: len(bundles) > 2, True)]; view.end(None)\n"
        "names, updates = {one[1] for one in bundles}, [one[2] for one in bundles]\n"
        "len(bundles) > 1, len(names), updates[:2], bundles[-1][0]['text/plain'][:17]"
    )
    _, outputs = run_cells(tmp_path, LOAD, code)
    assert [one.output_type for one in outputs] == ["display_data", "execute_result"], (
        "one output for the view"
    )
    assert shown(outputs[1:]) == "(True, 1, [False, True], 'holdfast: running')"


def test_in_a_terminal_the_verdict_is_printed(tmp_path: Path) -> None:
    script = tmp_path / "cells.ipy"
    script.write_text(
        "%load_ext holdfast\nget_ipython().run_cell_magic('holdfast', 'runs/t', 'print(6 * 7)')\n"
    )
    command = [sys.executable, "-m", "IPython", "--colors=NoColor", str(script)]
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "42" in done.stdout
    assert "verdict[finished]" in done.stderr and "<div" not in done.stdout


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", (None, None, True)),
        ("runs/x --stall-after 90.5", ("runs/x", 90.5, True)),
        ("--no-view 'a b'", ("a b", None, False)),
    ],
)
def test_options(line: str, found: object) -> None:
    assert cell_magic.options(line) == found


@pytest.mark.parametrize("line", ["a b", "--stall-after", "--stall-after 0", "--stall-after -3", "--what"])
def test_wrong_options(line: str) -> None:
    with pytest.raises(UsageError):
        cell_magic.options(line)


def test_the_name_of_a_notebook() -> None:
    assert cell_magic.notebook_name({}, {"JPY_SESSION_NAME": "/home/ann/my detector.ipynb"}) == "my-detector"
    assert cell_magic.notebook_name({"__vsc_ipynb_file__": "/x/a.ipynb"}, {}) == "a"
    assert cell_magic.notebook_name({}, {}) == "notebook"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_a_run_of_another_user_is_an_error_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    (run / "journal.jsonl").touch()
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(0o755)
    holdfast = cell_magic._line_magic(None)
    holdfast(str(tmp_path / "none"))  # as root, and everything is imported
    os.seteuid(65534)
    try:
        holdfast(str(run))
    finally:
        os.seteuid(0)
    assert "error[permission-denied]: permission denied:" in "".join(capsys.readouterr())
