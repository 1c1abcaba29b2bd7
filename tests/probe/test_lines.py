"""Telling the user's code from everybody else's."""

from __future__ import annotations

import json
import sys
import textwrap
import types
from pathlib import Path

import pytest

from holdfast.probe.loops.step_outputs import names_in
from holdfast.probe.process import exceptions, framework_warnings
from holdfast.probe.runtime import user_lines


@pytest.mark.parametrize(
    ("path", "is_users"),
    [
        (__file__, True),
        ("/home/me/train.py", True),
        ("<stdin>", True),
        ("/tmp/ipykernel_77/123.py", True),
        (json.__file__, False),
        (pytest.__file__, False),
        (user_lines.__file__, False),
        ("<frozen runpy>", False),
        ("/tmp/__autograph_generated_filex.py", False),
        ("h5py/_proxy.pyx", False),
        ("h5py/h5d.pyx", False),
    ],
)
def test_whose_file(path: str, is_users: bool) -> None:
    assert user_lines.is_user_file(path) is is_users


def test_a_framework_outside_site_packages_is_not_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = types.ModuleType("keras")
    package.__path__ = [str(tmp_path / "checkout" / "keras")]
    monkeypatch.setitem(sys.modules, "keras", package)
    inside = str(tmp_path / "checkout" / "keras" / "src" / "trainer.py")
    assert not user_lines.is_user_file(inside)
    assert user_lines.short(inside) == "keras/src/trainer.py"
    assert user_lines.is_user_file(str(tmp_path / "checkout" / "train.py"))


def test_places_are_short() -> None:
    assert user_lines.short("/venv/lib/python3.11/site-packages/keras/src/a.py") == "keras/src/a.py"
    assert user_lines.short(json.__file__) == "json/__init__.py"
    assert user_lines.short("/elsewhere/train.py") == "/elsewhere/train.py"


def test_the_line_of_a_message_that_quotes_a_traceback_is_the_one_a_library_called() -> None:
    message = textwrap.dedent("""
        Detected at node PyFunc defined at (most recent call last):
          File "/home/me/first.py", line 11, in <module>
          File "/v/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py", line 269, in __call__
          File "/home/me/train.py", line 33, in load
        """)
    assert exceptions._user_place([], message, ValueError()) == ("/home/me/train.py", 33)


def test_a_message_that_quotes_only_who_called_fit_is_not_believed() -> None:
    message = 'File "/home/me/first.py", line 11, in <module>\nFile "/v/site-packages/keras/src/x.py", line 1, in fit'
    assert exceptions._user_place([], message, ValueError()) is None


def test_the_innermost_frame_of_the_user_is_the_line() -> None:
    try:
        json.loads("{")
    except ValueError as error:
        trace = list(user_lines.frames_of(error.__traceback__))
        assert exceptions._user_place(trace, "", error) == (__file__, trace[0][1])
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


def step(a: int, b: int) -> tuple[int, int, int]:
    loss = a
    accuracy = b
    return loss, accuracy, a + b


def test_values_of_a_step_are_known_by_the_names_it_returns() -> None:
    assert names_in(step) == ["loss", "accuracy", "result 2"]
    assert names_in(len) == []


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Your input ran out of data; interrupting training.", "out-of-data"),
        ("5 out of the last 5 calls to <function f> triggered tf.function retracing.", "retracing"),
        (
            "Skipping variable loading for optimizer 'adam', because it has 2 variables",
            "optimizer-not-restored",
        ),
        ("Early stopping conditioned on metric `val_los` which is not available.", "monitor-missing"),
        ("Gradients do not exist for variables ['w'] when minimizing the loss.", "no-gradients"),
        ("The model does not have any trainable weights.", "nothing-trainable"),
        ("all is well", ""),
    ],
)
def test_warnings_that_matter_are_known(text: str, category: str) -> None:
    assert framework_warnings.classify(text) == category


def test_paths_that_xla_quotes_without_their_first_slash_are_told_apart_all_the_same(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    message = (
        f'File "{str(script)[1:]}", line 28, in <module>\n'
        f'File "{user_lines.PROBE_FOLDER[1:]}patch.py", line 42, in observed\n'
        f'File "{pytest.__file__[1:]}", line 3, in fit\n'
    )
    assert user_lines.in_text(message)[0] == (str(script), 28, "<module>")
    assert not user_lines.is_user_file(user_lines.in_text(message)[1][0])
    assert "patch.py" not in exceptions._text(ValueError(message))
