"""Errors in the words of the libraries that raise them: the cause that each names, and none of them is the script's."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal import events as ev
from tests.explain.made import Run

#: Cause, type, message; long messages are cut behind what matters.
_ERRORS = (
    ("peer-missing", "RuntimeError", "[../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:3412"),
    ("peer-missing", "DistBackendError", "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)"),
    ("peer-missing", "DistStoreError", "Timed out after 301 seconds waiting for clients. 1/2 clients joined."),
    ("dataset-empty", "ValueError", "Found array with 0 sample(s) (shape=(0, 4)) while a minimum of 1 is required."),
    ("dataset-empty", "ValueError", "Asked to retrieve element 0, but the Sequence has length 0"),
    ("dataset-empty", "ValueError", "No images found in directory data/train. Allowed formats: ('.bmp', '.gif')"),
    ("dataset-empty", "FileNotFoundError", "Found no valid file for the classes cat. Supported extensions are: .jpg"),
    ("loss-not-finite", "FloatingPointError", "invalid value (nan) encountered in mul"),
    ("loss-not-finite", "RuntimeError", "Function 'MulBackward0' returned nan values in its 0th output."),
    ("loss-not-finite", "InvalidArgumentError", "Tensor had NaN values [Op:CheckNumerics]"),
    ("bad-boxes", "ValueError", "All bounding boxes should have positive height and width. Found invalid box [1, 1]"),
    ("bad-boxes", "ValueError", "Expected x_max for bbox (0.5, 0.5, 1.02, 0.8, 1) to be in the range [0.0, 1.0]"),
    ("bad-boxes", "AssertionError", "non-normalized or out of bounds coordinate labels"),
    ("download-blocked", "OSError", "We couldn't connect to 'https://huggingface.co' to load this file"),
    ("download-blocked", "LocalEntryNotFoundError", "An error happened while trying to locate the file on the Hub"),
    ("illegal-instruction", "RuntimeError", "The TensorFlow library was compiled to use AVX instructions, but these"),
    ("monitor-missing", "MisconfigurationException",
     "`ModelCheckpoint(monitor='val_acc')` could not find the monitored key in the returned metrics"),
    ("gpu-not-used", "AssertionError", "Torch not compiled with CUDA enabled"),
    ("gpu-not-used", "RuntimeError", "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"),
    ("gpu-not-used", "RuntimeError", "CUDA error: no kernel image is available for execution on the device"),
)  # fmt: skip


@pytest.mark.parametrize(("cause", "kind", "message"), _ERRORS)
def test_the_words_name_the_cause(tmp_path: Path, cause: str, kind: str, message: str) -> None:
    run = Run(tmp_path / "run")
    run.raised(kind, message)
    assert run.first().cause == cause


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("StopIteration", ""),
        ("RuntimeError", "generator raised StopIteration"),
        ("OutOfRangeError", "End of sequence [Op:IteratorGetNext]"),
    ],
)
def test_an_iterator_that_ends_between_two_steps(tmp_path: Path, kind: str, message: str) -> None:
    """…and before the first step: the script may have asked for anything."""
    run = Run(tmp_path / "trained")
    run.probe(ev.LossSeen(step=40, logs={"loss": 0.3}))
    run.raised(kind, message)
    assert run.slugs()[0] == "dataset-exhausted"
    before = Run(tmp_path / "before")
    before.raised(kind, message)
    assert before.slugs() == ["script-error"]


def test_a_new_process_that_the_kernel_refuses_is_no_locked_file(tmp_path: Path) -> None:
    message = "[Errno 11] Resource temporarily unavailable"
    forks = Run(tmp_path / "forks")
    frames = ["train.py:9 main", "/usr/lib/python3.11/multiprocessing/popen_fork.py:66 _launch"]
    forks.raised("BlockingIOError", message, errno=11, frames=frames)
    assert forks.slugs() == ["thread-limit"]
    locks = Run(tmp_path / "locks")
    locks.raised("BlockingIOError", message, errno=11, frames=["train.py:9 save"])
    assert locks.slugs() == ["file-locked"]


@pytest.mark.parametrize(("there", "cause"), [(True, "undecodable-image"), (False, "script-error")])
def test_an_image_that_opencv_read_as_nothing(tmp_path: Path, there: bool, cause: str) -> None:
    """It says the same of a file that is not there: only one that is there is damaged."""
    run = Run(tmp_path / "run")
    message = (
        "OpenCV(4.8.0) color.cpp:182: error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'"
    )
    paths = ["data/a.jpg"]
    run.raised("error", message, paths=paths, paths_there=paths if there else [])
    assert run.slugs() == [cause]
