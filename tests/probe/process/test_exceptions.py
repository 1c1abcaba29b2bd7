"""Which exceptions are recorded, and which line of the user's code each is blamed on."""

from __future__ import annotations

import json
import multiprocessing
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.journal import reader
from holdfast.journal.events import ArrayShapesDiffered, ExceptionRaised
from holdfast.probe.process import exceptions
from holdfast.probe.runtime import user_lines
from holdfast.probe.runtime.context import ProbeContext

from ..probed import new_context


def bad_image(number: int) -> None:
    raise ValueError(f"bad image {number}")


def bad_label(number: int) -> None:
    raise ValueError(f"bad label {number}")


def said(context: ProbeContext) -> list[str]:
    events = [entry.event for entry in reader.read(context.folder.journal)]
    return [event.message for event in events if isinstance(event, ExceptionRaised)]


def left(context: ProbeContext, times: int, function: object, what: str) -> None:
    for number in range(1, times + 1):
        context.heartbeat.step += 1
        try:
            function(number)  # type: ignore[operator]
        except ValueError as error:
            context.exceptions.left_call(error, what)


def test_an_error_that_the_pipeline_ignores_at_every_step_is_told_at_doublings(tmp_path: Path) -> None:
    context = new_context(tmp_path)
    left(context, 1000, bad_image, "loader")
    assert said(context) == [f"bad image {number}" for number in (*range(1, 11), 16, 32, 64, 128, 256, 512)]


def test_another_line_another_kind_and_another_way_out_are_counted_by_themselves(tmp_path: Path) -> None:
    context = new_context(tmp_path)
    left(context, 100, bad_image, "loader")
    before = len(said(context))
    left(context, 1, bad_label, "loader")
    left(context, 1, bad_image, "fit")
    context.exceptions.left_call(KeyError("label"), "loader")
    assert said(context)[before:] == ["bad label 1", "bad image 1", "'label'"]


def test_what_ends_the_script_is_told_however_often_it_was_caught(tmp_path: Path) -> None:
    context = new_context(tmp_path)
    left(context, 11, bad_image, "fit")
    try:
        bad_image(12)
    except ValueError as error:
        context.exceptions.left_call(error, "fit")
        context.exceptions.script_raised(error)
    assert said(context)[10:] == ["bad image 12"]


# -- exceptions of workers ----------------------------------------------------------------------------


def _load(number: int) -> int:
    if number == 3:
        raise RuntimeError(f"cannot decode sample {number}")
    return number


_RAISES = _load.__code__.co_firstlineno + 2


def _place(error: BaseException, folder: Path) -> str:
    context = new_context(folder)
    return context.exceptions.describe(error, left="loader").user_line.rpartition("/")[2]


@pytest.mark.parametrize("how", ["executor", "pool"])
def test_the_line_of_a_workers_exception_is_the_workers(tmp_path: Path, how: str) -> None:
    context: Any = multiprocessing.get_context("fork")
    pool: Any = ProcessPoolExecutor(1, mp_context=context) if how == "executor" else context.Pool(1)
    with pool, pytest.raises(RuntimeError) as raised:
        list(pool.map(_load, range(4)))
    assert _place(raised.value, tmp_path) == f"test_exceptions.py:{_RAISES}"


def test_so_it_is_where_tensorflow_has_made_a_text_of_it(tmp_path: Path) -> None:
    here = f'  File "{__file__}", line {{}}, in {{}}\n'
    message = (
        "Graph execution error:\n\nRuntimeError: no\nconcurrent.futures.process._RemoteTraceback: \n\"\"\"\n"
        "Traceback (most recent call last):\n" + here.format(15, "load") + 'RuntimeError: no\n"""\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        f'  File "{sys.prefix}/lib/python3.11/site-packages/tensorflow/x.py", line 269, in __call__\n'
        + here.format(21, "gen")
    )  # fmt: skip
    assert _place(ValueError(message), tmp_path) == "test_exceptions.py:15"


# -- the user's line -----------------------------------------------------------------------------------


def test_the_line_of_a_message_that_quotes_a_traceback_is_the_one_a_library_called() -> None:
    message = textwrap.dedent("""
        Detected at node PyFunc defined at (most recent call last):
          File "/home/me/first.py", line 11, in <module>
          File "/v/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py", line 269, in __call__
          File "/home/me/train.py", line 33, in load
        """)
    assert exceptions._user_location([], message, ValueError()) == ("/home/me/train.py", 33)


def test_a_message_that_quotes_only_who_called_fit_is_not_believed() -> None:
    message = 'File "/home/me/first.py", line 11, in <module>\nFile "/v/site-packages/keras/src/x.py", line 1, in fit'
    assert exceptions._user_location([], message, ValueError()) is None


def test_the_innermost_frame_of_the_user_is_the_line() -> None:
    try:
        json.loads("{")
    except ValueError as error:
        trace = list(user_lines.frames_of(error.__traceback__))
        assert exceptions._user_location(trace, "", error) == (__file__, trace[0][1])
    else:
        pytest.fail("json took it")


def test_frames_of_the_probe_are_taken_out_of_a_traceback(tmp_path: Path) -> None:
    inside = str(Path(user_lines.__file__).parent / "made_up.py")
    scope: dict[str, object] = {}
    exec(compile("def call(inner):\n    inner()\n", inside, "exec"), scope)

    def fails() -> None:
        raise KeyError(1)

    try:
        scope["call"](fails)  # type: ignore[operator]
    except KeyError as error:
        kept = exceptions.without_probe_frames(error.__traceback__)
        names = [name for _, _, name, _ in user_lines.frames_of(kept)]
        assert names == [sys._getframe().f_code.co_name, "fails"]


def test_paths_that_xla_quotes_without_their_first_slash_are_told_apart_all_the_same(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    message = (
        f'File "{str(script)[1:]}", line 28, in <module>\n'
        f'File "{user_lines.PROBE_FOLDER[1:]}runtime/wrapping.py", line 42, in observed\n'
        f'File "{pytest.__file__[1:]}", line 3, in fit\n'
    )
    assert user_lines.in_text(message)[0] == (str(script), 28, "<module>")
    assert not user_lines.is_user_file(user_lines.in_text(message)[1][0])
    assert "wrapping.py" not in exceptions._text(ValueError(message))


# -- which array has another shape ------------------------------------------------------------------

IMAGES = [np.zeros((4, 4, 3)) for _ in range(5)]


def _raised(put_together: Callable[[], Any]) -> BaseException:
    with pytest.raises(ValueError) as caught:
        put_together()
    return caught.value


def test_the_odd_one_is_found_in_the_list_that_numpy_was_given() -> None:
    event = exceptions.odd_shape(_raised(lambda: np.stack([*IMAGES, np.zeros((4, 4, 4))])))
    assert event == ArrayShapesDiffered(usual=[4, 4, 3], odd=[4, 4, 4], index=5, total=6)


def test_the_odd_one_is_found_in_a_list_of_the_users_own() -> None:
    def collate() -> Any:
        images = [np.zeros((4, 5, 3)), *IMAGES]
        return np.array(images)

    event = exceptions.odd_shape(_raised(collate))
    assert event == ArrayShapesDiffered(usual=[4, 4, 3], odd=[4, 5, 3], index=0, total=6)


def test_nothing_is_recorded_where_all_are_alike() -> None:
    assert exceptions.odd_shape(_raised(lambda: np.stack([]))) is None


class Contrary:
    """A value of the user's that raises at whatever it is asked."""

    def __getattr__(self, name: str) -> object:
        raise ImportError(f"{name} needs a library that is not installed")


@pytest.mark.parametrize("value", [Path, Contrary()], ids=["a class of paths", "a lazy object"])
def test_no_variable_of_the_script_keeps_its_exception_from_being_recorded(
    tmp_path: Path, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`from pathlib import Path` in the script was enough: the class has what a path has, and is none."""
    data = tmp_path / "boxes.csv"
    data.write_text("x")
    monkeypatch.setattr(user_lines, "is_user_file", lambda file: file == __file__)
    context = new_context(tmp_path)

    def load(first: object, file: Path) -> None:
        raise ValueError("no box")

    with pytest.raises(ValueError) as caught:
        load(value, data)
    context.exceptions.script_raised(caught.value)
    (event,) = (
        entry.event
        for entry in reader.read(context.folder.journal)
        if isinstance(entry.event, ExceptionRaised)
    )
    assert str(data) in event.paths
