"""Exceptions that come again and again are told the first times, then at each doubling."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import reader
from holdfast.journal.events import ExceptionRaised
from holdfast.probe.process import exceptions
from holdfast.probe.runtime.context import ProbeContext


def bad_picture(number: int) -> None:
    raise ValueError(f"bad picture {number}")


def bad_label(number: int) -> None:
    raise ValueError(f"bad label {number}")


def said(session: ProbeContext) -> list[str]:
    events = [entry.event for entry in reader.read(session.folder.journal)]
    return [event.message for event in events if isinstance(event, ExceptionRaised)]


def left(session: ProbeContext, times: int, function: object, what: str) -> None:
    for number in range(1, times + 1):
        session.progress.step += 1
        try:
            function(number)  # type: ignore[operator]
        except ValueError as error:
            exceptions.left_call(session, error, what)


def test_an_error_that_the_pipeline_ignores_at_every_step_is_told_at_doublings(tmp_path: Path) -> None:
    session = ProbeContext(str(tmp_path), attempt=1, role="main")
    left(session, 1000, bad_picture, "loader")
    assert said(session) == [f"bad picture {number}" for number in (*range(1, 11), 16, 32, 64, 128, 256, 512)]


def test_another_line_another_kind_and_another_way_out_are_counted_by_themselves(tmp_path: Path) -> None:
    session = ProbeContext(str(tmp_path), attempt=1, role="main")
    left(session, 100, bad_picture, "loader")
    before = len(said(session))
    left(session, 1, bad_label, "loader")
    left(session, 1, bad_picture, "fit")
    exceptions.left_call(session, KeyError("label"), "loader")
    assert said(session)[before:] == ["bad label 1", "bad picture 1", "'label'"]


def test_what_ends_the_script_is_told_however_often_it_was_caught(tmp_path: Path) -> None:
    session = ProbeContext(str(tmp_path), attempt=1, role="main")
    left(session, 11, bad_picture, "fit")
    try:
        bad_picture(12)
    except ValueError as error:
        exceptions.left_call(session, error, "fit")
        exceptions.script_raised(session, error)
    assert said(session)[10:] == ["bad picture 12"]
