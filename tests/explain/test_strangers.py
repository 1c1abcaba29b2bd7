"""Scripts of kinds that nobody here had written, told by hand as the probe and the supervisor saw them."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.explain import Strength, Verdict
from holdfast.explain.readings.error import read_fatal
from holdfast.explain.readings.output import clipped
from holdfast.journal import events as ev
from holdfast.report.verdict import render
from tests.explain.made import GIB, Run, sentence, title_of


def _first(verdict: Verdict) -> tuple[str, Strength]:
    return verdict.findings[0].cause, verdict.findings[0].strength


def _facts(verdict: Verdict) -> list[str]:
    return [sentence(fact) for fact in verdict.findings[0].because]


def _slugs(verdict: Verdict) -> list[str]:
    return [one.cause for one in verdict.findings]


NATIVE = """Fatal Python error: Segmentation fault

Thread 0x00007f2a00efa6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait

Thread 0x00007f2a4e1c1b80 (most recent call first):
  File "/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py", line 53 in quick_execute
  File "/home/me/train.py", line 4 in <module>

Extension modules: numpy (total: 1)
"""


def test_a_crash_in_a_thread_without_python_shows_where_the_main_thread_was() -> None:
    found = read_fatal(NATIVE, source="stacks/faulthandler-1.txt")
    assert found is not None
    assert not found.in_python
    assert found.where == "/home/me/train.py:4 in <module>"
    assert found.inside.endswith("execute.py:53 in quick_execute")


def _crashed(path: Path, **limits: int) -> Verdict:
    run = Run(path, rlimits=limits)
    run.probe(ev.ProcessJoined(role="main"))
    run.fit()
    (path / "stacks").mkdir()
    pid = os.getpid()  # as the journal has it
    (path / "stacks" / f"faulthandler-{pid}.txt").write_text(NATIVE)
    run.samples(5, rss_bytes=2 * GIB, virtual_bytes=4 * GIB, phase="fill")
    run.ended(signal="SIGSEGV")
    return run.verdict()


def test_a_wordless_crash_without_a_limit(tmp_path: Path) -> None:
    free = _crashed(tmp_path / "free")
    assert _first(free) == ("native-crash", Strength.ESTABLISHED)
    assert title_of(free.findings[0]) == (
        "it crashed in native code (SIGSEGV) while /home/me/train.py:4 in <module> ran"
    )


def test_keras_2_is_not_told_to_use_what_it_does_not_have(tmp_path: Path) -> None:
    for name, has_it in (("keras", True), ("tf_keras", False)):
        run = Run(tmp_path / name)
        run.probe(ev.FrameworkSeen(name=name, backend="tensorflow"))
        run.fit()
        run.probe(ev.NonFiniteSeen(what="loss", name="loss", step=1, value="nan"))
        run.probe(ev.StopRequested(by="TerminateOnNaN", step=1))
        run.epochs([1], [float("nan")], stopped=True)
        run.ended(0)
        verdict = run.verdict()
        assert verdict.findings[0].cause == "stopped-on-nan"
        assert ("raise_error" in render(verdict)) is has_it
        assert "unknown before" not in render(verdict)


def test_colours_of_a_message_are_not_part_of_it() -> None:
    assert clipped("\x1b[1mInput 0\x1b[0m is wrong") == "Input 0 is wrong"
