"""Why a function was traced again, in TensorFlow that gives its arguments and no signature; what JAX compiles again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdfast.journal.events import TracesCounted
from holdfast.probe.loops.function_traces import TraceCounter, TracedFunction, reason, signature_of


def _reason(*calls: tuple[tuple[object, ...], dict[str, object]]) -> str:
    signatures = [signature_of(*call) for call in calls]
    return reason(TracedFunction("step", "train.py:3", traces=len(calls), signatures=signatures))


def test_a_python_number_that_changes() -> None:
    x = np.zeros((4, 2), "float32")
    assert signature_of((x, 3), {"training": True}) == (
        "TensorSpec(shape=(4, 2), dtype=float32), Literal[3], Literal[True]"
    )
    assert _reason(((x, 1), {}), ((x, 2), {})) == "python-value"


def test_a_shape_that_changes() -> None:
    assert _reason(((np.zeros((4, 2)), 1), {}), ((np.zeros((3, 2)), 1), {})) == "new-shape"


def _compiled_again(steps: list[int], *, in_fit: bool) -> int:
    """JAX compiles one function, each time at this step; how many of them no run needs."""
    recorded: list[TracesCounted] = []
    heartbeat = SimpleNamespace(step=0, fit=1, phase=None)
    fit = SimpleNamespace(first_step_s=0.5) if in_fit else None
    context: Any = SimpleNamespace(
        heartbeat=heartbeat,
        fits=SimpleNamespace(current=fit, calls_open=0),
        loop=SimpleNamespace(in_jitted_call=True),
        record=recorded.append,
        at_exit=[],
    )
    counter = TraceCounter(context)
    for heartbeat.step in steps:
        counter.compiled("jit(multiply)", 0.1)
    for action in context.at_exit:
        action()
    return recorded[-1].traces - recorded[-1].expected


@pytest.mark.parametrize("in_fit", [True, False])
def test_many_shapes_in_one_step_are_not_many_new_batches(in_fit: bool) -> None:
    """A last batch that is smaller: one operation is compiled for each layer, all in one step."""
    assert _compiled_again([4] * 16, in_fit=in_fit) <= 1


@pytest.mark.parametrize(("in_fit", "again"), [(True, 13), (False, 16)])
def test_a_new_shape_in_every_step(in_fit: bool, again: int) -> None:
    assert _compiled_again(list(range(1, 17)), in_fit=in_fit) == again


def test_the_last_count_of_a_short_run_is_written_when_the_process_ends() -> None:
    """14 compilations in 14 steps: the count was last written at 8."""
    assert _compiled_again(list(range(14)), in_fit=False) == 13
