"""The phase of a process by its stacks. Frames as py-spy read them from real processes, shortened."""

from __future__ import annotations

import pytest

from holdfast.journal.beats import Phase
from holdfast.journal.stack_files import Frame, Thread
from holdfast.supervise.stack_capture.stack_phase import Doing, read_phase

_SITE = "/venv/lib/python3.11/site-packages/"
_MODULE = ("/home/me/train.py", "<module>")
_FIT = (_SITE + "keras/src/backend/tensorflow/trainer.py", "fit")
_EXECUTE = (_SITE + "tensorflow/python/eager/execute.py", "quick_execute")
_CALLBACKS = (_SITE + "keras/src/callbacks/callback_list.py", "on_epoch_end")


def stack(*frames: tuple[str, str]) -> list[Frame]:
    """Innermost first."""
    return [Frame(file, 10, function) for file, function in frames]


def main(*frames: tuple[str, str]) -> Thread:
    return Thread(tid=1, state="S", main=True, frames=stack(*frames))


@pytest.mark.parametrize(
    ("frames", "doing", "phase"),
    [
        ([_EXECUTE, _FIT, _MODULE], Doing.STEP, Phase.STEP),
        ([("/home/me/train.py", "on_epoch_end"), _CALLBACKS, _FIT, _MODULE], Doing.CALLBACK, Phase.CALLBACK),
        (
            [(_SITE + "h5py/_hl/dataset.py", "make_new_dset"),
             (_SITE + "keras/src/saving/saving_lib.py", "_save_state"),
             (_SITE + "keras/src/callbacks/model_checkpoint.py", "on_epoch_end"), _CALLBACKS, _FIT, _MODULE],
            Doing.SAVING, Phase.SAVE,
        ),
        (
            [_EXECUTE, (_SITE + "keras/src/backend/tensorflow/trainer.py", "evaluate"), _FIT, _MODULE],
            Doing.VALIDATION, Phase.VALIDATION,
        ),
        (
            [_EXECUTE, (_SITE + "tensorflow/python/data/ops/iterator_ops.py", "__next__"), _MODULE],
            Doing.INPUT, Phase.DATA_WAIT,
        ),
        (
            [(_SITE + "torch/utils/data/dataloader.py", "_try_get_data"), _MODULE],
            Doing.INPUT, Phase.DATA_WAIT,
        ),
        (
            [(_SITE + "tensorflow/python/framework/func_graph.py", "func_graph_from_py_func"), _FIT, _MODULE],
            Doing.COMPILING, Phase.COMPILE,
        ),
        ([("<frozen importlib._bootstrap>", "_call_with_frames_removed"), _MODULE], Doing.IMPORTING, Phase.IMPORT),
        (
            [("/usr/lib/python3.11/ssl.py", "read"), (_SITE + "keras/src/utils/file_utils.py", "get_file"), _MODULE],
            Doing.DOWNLOADING, None,
        ),
        ([("/usr/lib/python3.11/threading.py", "_shutdown")], Doing.EXITING, Phase.EXIT),
        ([("/home/me/train.py", "wait_for_upload")], Doing.EXITING, Phase.EXIT),  # an exit handler of the script
        ([_MODULE], Doing.OWN_CODE, None),
        ([("/home/me/train.py", "download"), _MODULE], Doing.OWN_CODE, None),  # a function of any name
        (
            [("/home/me/train.py", "main"), ("/home/me/train.py", "<module>"),
             ("<frozen importlib._bootstrap>", "_load_unlocked"), ("/home/me/run.py", "<module>")],
            Doing.OWN_CODE, None,
        ),
    ],
)  # fmt: skip
def test_the_innermost_frame_that_says_something_decides(
    frames: list[tuple[str, str]], doing: Doing, phase: Phase | None
) -> None:
    found = read_phase([main(*frames)], from_python=True)
    assert (found.doing, found.phase) == (doing, phase)


def test_a_step_whose_generator_waits_is_waiting_for_input() -> None:
    generator = Thread(
        tid=2,
        state="S",
        frames=stack(
            ("/home/me/data.py", "read_one"), (_SITE + "tensorflow/python/ops/script_ops.py", "__call__")
        ),
    )
    found = read_phase([main(_EXECUTE, _FIT, _MODULE), generator], from_python=True)
    assert found.doing is Doing.INPUT
    assert found.frame is not None and found.frame.function == "read_one"


def test_a_main_thread_without_python_frames_is_at_the_end() -> None:
    thread = Thread(tid=2, state="S", frames=stack(("/home/me/train.py", "serve")))
    assert read_phase([main(), thread], from_python=True).doing is Doing.EXITING
    assert read_phase([Thread(tid=1, state="R", main=True)], from_python=True).doing is Doing.EXITING


def test_a_program_that_embeds_python_is_not() -> None:
    script = Thread(tid=2, state="S", frames=stack(_EXECUTE, _FIT, _MODULE))
    assert read_phase([main(), script], from_python=True).phase is None


def test_without_stacks_nothing_is_claimed() -> None:
    assert read_phase([main()], from_python=False).doing is Doing.UNKNOWN
    assert read_phase([], from_python=True).phase is None
