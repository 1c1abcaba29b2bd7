"""A module that is asked in a process of its own: its answer, its progress, its crash, its timeout."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdfast.subprocess_json import HIDDEN_GPUS, ask

MODULE = """
import json, os, sys, time
question = sys.stdin.read()
if "crash" in sys.argv:
    print("Traceback", file=sys.stderr)
    sys.exit("RuntimeError: the driver went away")
if "wait" in sys.argv:
    time.sleep(600)
if "kill" in sys.argv:
    os.kill(os.getpid(), 9)
print("step 1", flush=True)
print("{not an answer", flush=True)
print(json.dumps({"question": question and json.loads(question), "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
                  "words": sys.argv[1:]}))
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asked.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_the_answer_is_the_json_line_and_the_rest_is_progress() -> None:
    lines: list[str] = []
    reply = ask("asked", "a", "b", question={"n": 1}, on_progress=lines.append)
    assert reply.answer == {"question": {"n": 1}, "gpus": None, "words": ["a", "b"]}
    assert lines == ["step 1", "{not an answer"]
    assert (reply.exit_code, reply.ending, reply.timed_out) == (0, "exit code 0", False)


def test_gpus_are_hidden_where_asked() -> None:
    assert ask("asked", environment=HIDDEN_GPUS).answer["gpus"] == "-1"


def test_a_crash_has_no_answer_and_a_last_line() -> None:
    reply = ask("asked", "crash")
    assert (reply.answer, reply.exit_code, reply.last_line) == (None, 1, "RuntimeError: the driver went away")
    assert ask("asked", "kill").ending == "killed by SIGKILL"


def test_a_timeout_kills_the_process() -> None:
    reply = ask("asked", "wait", timeout_s=0.5)
    assert (reply.answer, reply.timed_out, reply.ending) == (None, True, "timed out")


def test_another_interpreter_finds_holdfast(tmp_path: Path) -> None:
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    (tmp_path / "asked.py").write_text("import holdfast, json; print(json.dumps([holdfast.__file__]))")
    import holdfast

    assert ask("asked", python=str(link)).answer == [holdfast.__file__]
