"""A script that ends itself leaves the line and the words."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.journal import reader
from holdfast.journal.events import AtHandSeen, ExceptionRaised, ExitCalled, ProbeFailed
from holdfast.probe.process import exit_calls

from ..probed import new_context, pretend_torch, run


def test_the_call_is_written_down_and_made(tmp_path: Path) -> None:
    called: list[tuple[Any, ...]] = []
    module: Any = SimpleNamespace(__name__="sys", exit=lambda *args: called.append(args))
    context = new_context(tmp_path)
    exit_calls._watch_exit(context, module, "exit")
    module.exit("no data, aborting")
    module.exit()
    module.exit(300)
    context.forked = True
    module.exit(4)
    assert called == [("no data, aborting",), (), (300,), (4,)]
    said: list[Any] = [entry.event for entry in reader.read(tmp_path / "journal.jsonl")]
    assert [(one.by, one.code, one.message) for one in said] == [
        ("sys.exit", 1, "no data, aborting"), ("sys.exit", 0, ""), ("sys.exit", 300, ""),
    ]  # fmt: skip
    assert said[0].where.partition(":")[0].endswith("test_exit_calls.py")


def test_a_signal_to_itself_is_written_down_and_sent(tmp_path: Path) -> None:
    sent: list[tuple[int, int]] = []
    module: Any = SimpleNamespace(__name__="os", kill=lambda *args: sent.append(args))
    context = new_context(tmp_path)
    exit_calls._watch_kill(context, module)
    module.kill(os.getpid(), signal.SIGKILL)
    module.kill(os.getpid(), 0)  # asks whether it lives
    module.kill(os.getpid() + 1, signal.SIGTERM)  # a worker
    module.kill(os.getpid(), 44)  # has no name
    assert sent == [(os.getpid(), 9), (os.getpid(), 0), (os.getpid() + 1, 15), (os.getpid(), 44)]
    said: list[Any] = [entry.event for entry in reader.read(tmp_path / "journal.jsonl")]
    assert [one.signal for one in said] == ["SIGKILL", "signal 44"]
    assert said[0].where.partition(":")[0].endswith("test_exit_calls.py")


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("os._exit(3)", 3),
        ("os._exit(status=3)", 3),
        ("os.kill(os.getpid(), 9)", -9),
        ("sys.exit(3)", 3),
    ],
)
def test_a_script_ends_itself_by_name_or_by_place(tmp_path: Path, call: str, code: int) -> None:
    torch = pretend_torch(tmp_path / "packages")
    done = run("-c", f"import os, sys, torch\n{call}", folder=tmp_path / "run", path=(torch,))
    assert (done.code, done.output) == (code, "")
    assert [event.code for event in done.all(ExitCalled)] == ([3] if code == 3 else [])


@pytest.mark.parametrize(
    "call", ["os._exit()", "os._exit(code=3)", "os.kill(pid=1)", "sys.exit(1, 2)", "os.kill(0)"]
)
def test_a_wrong_call_is_refused_in_the_same_words(tmp_path: Path, call: str) -> None:
    torch = pretend_torch(tmp_path / "packages")
    code = f"import os, sys, torch\ntry:\n    {call}\nexcept TypeError as error:\n    print(error)"
    alone = run("-c", code, folder=tmp_path / "none", path=(torch,), probe=False)
    assert run("-c", code, folder=tmp_path / "run", path=(torch,)).output == alone.output


def test_the_functions_that_are_watched_can_be_sent_to_another_process(tmp_path: Path) -> None:
    torch = pretend_torch(tmp_path / "packages")
    code = (
        "import os, pickle, sys, warnings, torch\n"
        "for function in (os._exit, os.kill, sys.exit, warnings.warn, pickle.dump):\n"
        "    assert pickle.loads(pickle.dumps(function)) is function\n"
    )
    done = run("-c", code, folder=tmp_path / "run", path=(torch,))
    assert (done.code, done.output) == (0, "")


@pytest.mark.parametrize(("call", "recorded"), [("sys.exit(f'no: {error}')", 1), ("sys.exit(0)", 0)])
def test_an_exception_that_ends_in_an_exit_is_recorded_with_its_file(
    tmp_path: Path, call: str, recorded: int
) -> None:
    """Also where only the expression of the line names the file."""
    torch, script = pretend_torch(tmp_path / "packages"), tmp_path / "train.py"
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "run_3.json").write_text('{"step": 1, "lo')
    script.write_text(
        "import json, os, sys, torch\n"
        "def resume(number):\n    return json.load(open(os.path.join('state', f'run_{number}.json')))\n"
        f"try:\n    resume(3)\nexcept ValueError as error:\n    {call}\n"
    )
    done = run(script, folder=tmp_path / "run", path=(torch,), cwd=tmp_path)
    assert (done.code, len(done.all(ExceptionRaised))) == (recorded, recorded)
    assert done.all(ProbeFailed) == []
    if recorded:
        raised, file = done.one(ExceptionRaised), done.one(AtHandSeen).files[0]
        assert (raised.type, raised.left, raised.caught) == ("JSONDecodeError", "exit", True)
        assert raised.user_line.endswith("train.py:3")
        assert (file["path"], file["missing"]) == ("state/run_3.json", "it ends within a value")
