"""An exception that ended the script, or an exit of its own: by a call, a code or a signal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import UnknownFormat
from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies

_SHAPES = "Input 0 of layer 'dense' is incompatible with the layer: expected axis -1 of input shape to have value 12"


def example(run: Run) -> None:
    run.output(
        'Epoch 1/3\nTraceback (most recent call last):\n  File "/home/me/train.py", line 41, in '
        '<module>\n    total = parts["box"]\n'
        '  File "/venv/lib/python3.11/site-packages/keras/x.py", line 7, in get\n    return '
        "d[k]\nKeyError: 'box'\n"
    )
    run.ended(1)


def near_miss(run: Run) -> None:
    """A traceback that the script printed and survived."""
    run.output(
        'Traceback (most recent call last):\n  File "/home/me/train.py", line 41, in <module>\n    '
        "x\nKeyError: 'box'\n"
    )
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


# -- an exception ------------------------------------------------------------------------------------


def test_the_users_own_line_is_named(run: Run) -> None:
    example(run)
    assert run.first().title.values == {
        "error": "KeyError", "where": "/home/me/train.py:41", "message": "'box'", "caught": False
    }  # fmt: skip
    assert facts(run.first())["error.user-line"]["code"] == 'total = parts["box"]'
    assert remedies(run.first()) == ["line.fix"]


def _fit_that_raised(run: Run, number: int) -> None:
    run.probe(
        ev.FitStarted(fit=number, epochs=2, planned_steps_per_epoch=20),
        ev.ExceptionRaised(
            type="ValueError", message=_SHAPES, left="fit", user_line="train.py:10", process="main"
        ),
        ev.FitDone(fit=number, steps=0, epochs=1, epochs_done=0, raised="ValueError", steps_by_epoch=[0]),
    )


def test_an_exception_that_left_every_fit_is_found_though_the_script_caught_it(run: Run) -> None:
    _fit_that_raised(run, 1)
    _fit_that_raised(run, 2)
    run.ended(0)
    assert run.verdict().outcome == "stopped-early"
    assert (run.first().cause, run.first().strength) == ("script-error", Strength.ESTABLISHED)
    assert run.first().title.values == {
        "error": "ValueError", "where": "train.py:10", "message": _SHAPES, "caught": True
    }  # fmt: skip
    assert "error.caught" in facts(run.first())


def test_an_exception_that_a_later_fit_made_good_blames_nobody(run: Run) -> None:
    _fit_that_raised(run, 1)
    run.probe(ev.FitStarted(fit=2, epochs=3, planned_steps_per_epoch=100))
    run.epochs([100, 100, 100], fit=2)
    run.ended(0)
    assert run.blamed() == []


def test_an_exception_of_python_inside_a_graph_has_its_own_name(run: Run) -> None:
    run.fit()
    message = (
        "Graph execution error:\n\nDetected at node PyFunc defined at (most recent call last):\n"
        "<stack traces unavailable>\nRecursionError: maximum recursion depth exceeded\n"
        'Traceback (most recent call last):\n\n  File "/home/me/train.py", line 7, in depth\n    return depth(node)\n'
    )
    run.raised("UnknownError", message, user_line="train.py:7")
    values = run.first().title.values
    assert (values["error"], values["message"]) == ("RecursionError", "maximum recursion depth exceeded")


def test_an_element_that_does_not_fit_is_looked_for_in_the_generator(run: Run) -> None:
    node = {"op": "generator", "function": "gen", "where": "train.py:14", "python": True}
    run.fit(data=ev.DatasetSeen(type="tf.data", nodes=[node], where="train.py:18"))
    message = "`generator` yielded an element of shape (2,) where an element of shape () was expected."
    run.raised("TypeError", message, user_line="train.py:18")
    assert facts(run.first())["pipeline.generator"] == {"function": "gen", "where": "train.py:14"}
    assert remedies(run.first()) == ["generator.match-signature"]


def test_a_question_that_nobody_can_answer(run: Run) -> None:
    run.raised("EOFError", "EOF when reading a line", user_code='if input("save? ") == "y":')
    remedy = run.first().remedies[0]
    assert (remedy.kind, remedy.values) == ("input.use-an-option", {"where": "train.py:41"})


def test_an_error_that_was_printed_and_survived_is_not_the_one_that_ended_it(run: Run) -> None:
    run.fit()
    run.output("skipped: [Errno 2] No such file or directory: 'a.jpg'\nskipped: Unknown image file format\n")
    run.raised("KeyError", "'label'", user_line="train.py:7")
    assert run.slugs() == ["script-error"]


def test_a_class_called_monitor_is_no_callback(run: Run) -> None:
    run.fit()
    run.raised("ValueError", "class 'tv monitor' is not in the label map")
    assert (run.blamed(), run.first().strength) == (["script-error"], Strength.ESTABLISHED)


def test_a_reader_that_is_gone_is_no_callbacks_fault(run: Run) -> None:
    run.fit()
    frames = ["work.py:3 <module>", "keras/src/callbacks/progbar_logger.py:80 on_epoch_end",
              "keras/src/utils/io_utils.py:98 print_msg"]  # fmt: skip
    more: dict[str, Any] = {"errno": 32, "callback": "ProgbarLogger", "user_line": "work.py:3"}
    run.raised("BrokenPipeError", "[Errno 32] Broken pipe", frames=frames, **more)
    first = run.first()
    assert (first.title.kind, first.strength) == ("script-error.reader-gone", Strength.ESTABLISHED)
    assert first.title.values == {"error": "BrokenPipeError", "where": "work.py:3"}


def test_what_the_trainer_refuses_has_its_own_words(run: Run) -> None:
    """There is no traceback to read: the error itself has what it found and what to change."""
    refused = UnknownFormat(
        "no annotations were found here",
        where="/data/pets",
        found="the folder is empty",
        change="give another",
    )
    reported = {"slug": refused.slug, "what": refused.what, "where": refused.where}
    run.probe(ev.ErrorReported(**reported, found=list(refused.found), change=list(refused.advised)))
    run.probe(ev.ExceptionRaised(type="UnknownFormat", message=refused.what, left="script"))
    run.ended(2)
    first = run.first()
    assert first.title.kind == "script-error.trainer"
    assert first.title.values == {"what": "no annotations were found here", "where": "/data/pets"}
    assert facts(first)["error.found"] == {"text": "the folder is empty"}
    assert [remedy.values for remedy in first.remedies] == [{"text": "give another"}]


# -- an exit of its own --------------------------------------------------------------------------------


def _ended_itself(run: Run, exit_code: int, *, steps: list[int], **called: object) -> None:
    run.fit()
    run.epochs(steps)
    known: dict[str, Any] = {"by": "sys.exit", "code": 1, "where": "train.py:9", "phase": "after", **called}
    run.probe(ev.ExitCalled(**known))
    run.ended(exit_code)


def test_a_call_of_exit_has_its_line_and_its_words(run: Run) -> None:
    _ended_itself(run, 1, steps=[100] * 3, message="the loss is above the gate")
    first = run.first()
    assert (first.title.kind, first.strength) == ("script-error.exit-call", Strength.ESTABLISHED)
    assert first.title.values == {
        "by": "sys.exit", "where": "train.py:9", "message": "the loss is above the gate", "on_purpose": False
    }  # fmt: skip


def test_os_exit_drops_what_is_not_written(run: Run) -> None:
    _ended_itself(run, 0, steps=[100], by="os._exit", code=0, phase="callback")
    assert (run.first().title.values["by"], run.first().strength) == ("os._exit", Strength.ESTABLISHED)


def test_a_script_that_leaves_with_exit_code_0_may_have_what_it_wanted(run: Run) -> None:
    _ended_itself(run, 0, steps=[100], code=0, phase="callback")
    assert run.verdict().outcome == "stopped-early"
    assert run.first().title.values["on_purpose"] and run.first().strength == Strength.POSSIBLE


@pytest.mark.parametrize("code", [0, 9])  # as planned, or caught
def test_an_exit_that_was_asked_for_or_caught_blames_nobody(run: Run, code: int) -> None:
    _ended_itself(run, 0, steps=[100] * 3, code=code)
    assert run.slugs() == []


@pytest.mark.parametrize(
    ("last", "complaint"),
    [("train.py: error: the following arguments are required: --lr", True), ("epoch 3 of 10", False)],
)
def test_a_command_that_complains_and_ends_itself(run: Run, last: str, complaint: bool) -> None:
    run.output(f"usage: train.py\n{last}\n")
    run.ended(2)
    assert run.first().title.kind == "script-error.exit-code"
    assert run.first().title.values == {"exit_code": 2, "complaint": last if complaint else ""}
    assert facts(run.first())["output.last-line"] == {"text": last}


def test_an_allocator_that_says_that_it_is_no_failure_ended_nothing(run: Run) -> None:
    run.fit()
    run.epochs([100] * 3)
    run.output(
        "W bfc_allocator.cc:296] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB. The caller "
        "indicates that this is not a failure, but this may mean that there could be performance gains.\n"
        "accuracy 0.71 below 0.9\n"
    )
    run.ended(1)
    assert (run.blamed(), run.first().strength) == (["script-error"], Strength.SUPPORTED)


# -- a signal of its own -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signal", "title"), [("SIGALRM", "script-error.timer"), ("SIGPIPE", "script-error.closed-pipe")]
)
def test_a_timer_and_a_closed_pipe(run: Run, signal: str, title: str) -> None:
    run.fit()
    run.probe(ev.ExceptionRaised(type="ValueError", message="long ago", left="fit", process="main"))
    run.ended(None, signal)
    assert (run.first().title.kind, run.first().strength) == (title, Strength.SUPPORTED)


def test_a_timer_that_outlives_the_script(run: Run) -> None:
    run.probe(ev.ExitStarted(exit_code=0, steps=0))
    run.ended(None, "SIGALRM")
    assert "exit.timer-armed" in facts(run.first())


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_signal_that_the_script_sent_itself_came_from_nobody_else(run: Run, signal: str) -> None:
    run.fit()
    run.epochs([100] * 3)
    run.probe(ev.SelfSignalled(signal=signal, where="train.py:14"))
    run.ended(signal=signal)
    assert run.verdict().outcome == "failed"
    assert (run.slugs(), run.first().strength) == (["script-error"], Strength.ESTABLISHED)
    assert run.first().title.kind == "script-error.self-signal"
    assert run.first().title.values == {"signal": signal, "where": "train.py:14"}


def test_a_signal_that_it_sent_itself_and_handled_is_not_the_one_that_ended_it(run: Run) -> None:
    run.fit()
    run.probe(ev.SelfSignalled(signal="SIGUSR1", where="train.py:14"))
    run.ended(signal="SIGKILL")
    assert run.first().cause == "killed-from-outside"


_NOT_A_FAILURE = (
    "W bfc_allocator.cc:296] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB with "
    "freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be "
    "performance gains if more memory were available.\n"
)


_SHAPES = "Shapes (32, 10) and (32, 5) are incompatible"


@pytest.mark.parametrize(
    "line",
    [
        "WARNING cache: [Errno 2] No such file or directory: 'labels_cache.json', building it anew\n",
        _NOT_A_FAILURE,
        "matplotlib: Permission denied: '/root/.config/matplotlib', using /tmp\n",
        "wandb: WARNING Network error (ConnectionError), entering retry loop. https://api.wandb.ai\n",
        "tensorboard: upload of run-3 failed: No space left on device (server)\n",
        "GPU monitor started on port 9400\n",
    ],
)
def test_an_error_with_words_is_not_explained_by_a_line_before_it(line: str, run: Run) -> None:
    run.fit()
    run.output(line + "Epoch 1/3\n")
    run.raised("ValueError", _SHAPES)
    assert run.blamed() == ["script-error"]
    assert run.first().strength is Strength.ESTABLISHED


@pytest.mark.parametrize(
    ("raised", "remedy"),
    [
        ({"type": "ModuleNotFoundError", "message": "No module named 'IPython.display'"}, "module.install"),
        (
            {
                "type": "AttributeError",
                "message": "module 'tensorflow.python.ops.control_flow_ops' has no attribute 'case'",
                "frames": ["train.py:7 <module>", "tf_slim/data/tfexample_decoder.py:453 decode"],
            },
            "package.version",
        ),
        (
            {"type": "ValueError", "message": "batch is 0", "user_code": "raise ValueError('batch is 0')"},
            "line.find-what-reaches-it",
        ),
        ({"type": "TypeError", "message": "'int' is not iterable", "user_code": "for a in 3:"}, "line.fix"),
    ],
)
def test_what_to_change_is_not_always_the_line_that_raised(
    tmp_path: Path, raised: dict[str, Any], remedy: str
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.ExceptionRaised(left="script", user_line="train.py:7", **raised))
    run.ended(1)
    assert (run.first().cause, remedies(run.first())[0]) == ("script-error", remedy)
