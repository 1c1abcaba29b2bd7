"""An exception of a worker is told with the worker's line, not with the one that waited for it."""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast.probe.process import exceptions
from holdfast.probe.runtime.context import ProbeContext


def _load(number: int) -> int:
    if number == 3:
        raise RuntimeError(f"cannot decode sample {number}")
    return number


_RAISES = _load.__code__.co_firstlineno + 2


def _place(error: BaseException, folder: Path) -> str:
    session = ProbeContext(str(folder), attempt=1, role="main")
    return exceptions.describe(session, error, left="loader").user_line.rpartition("/")[2]


@pytest.mark.parametrize("how", ["executor", "pool"])
def test_the_line_is_the_workers(tmp_path: Path, how: str) -> None:
    context: Any = multiprocessing.get_context("fork")
    pool: Any = ProcessPoolExecutor(1, mp_context=context) if how == "executor" else context.Pool(1)
    with pool, pytest.raises(RuntimeError) as raised:
        list(pool.map(_load, range(4)))
    assert _place(raised.value, tmp_path) == f"test_remote_lines.py:{_RAISES}"


def test_so_it_is_where_tensorflow_has_made_a_text_of_it(tmp_path: Path) -> None:
    here = f'  File "{__file__}", line {{}}, in {{}}\n'
    told = (
        "Graph execution error:\n\nRuntimeError: no\nconcurrent.futures.process._RemoteTraceback: \n\"\"\"\n"
        "Traceback (most recent call last):\n" + here.format(15, "load") + 'RuntimeError: no\n"""\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        f'  File "{sys.prefix}/lib/python3.11/site-packages/tensorflow/x.py", line 269, in __call__\n'
        + here.format(21, "gen")
    )  # fmt: skip
    assert _place(ValueError(told), tmp_path) == "test_remote_lines.py:15"
