"""Why a function was traced again, in TensorFlow that gives its arguments and no signature."""

from __future__ import annotations

import numpy as np

from holdfast.probe.loops.function_traces import TracedFunction, reason, signature_of


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
