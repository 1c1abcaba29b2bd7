"""Shapes that are stretched to fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.learning_runs import NUMBERS, dense, trained
from tests.explain.made import Run, facts, remedies, title_of

_MSE = "mean_squared_error"


def example(run: Run) -> None:
    output = dense("linear", 1, _MSE, prediction_shape=[None, 6, 1], target_shape=[None])
    trained(run, output, NUMBERS, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


def near_miss(run: Run) -> None:
    output = dense("linear", 1, _MSE, prediction_shape=[None, 1], target_shape=[None])
    trained(run, output, NUMBERS, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("predicted", "wanted", "by", "found"),
    [
        ([None, 1], [None], "compile", None),
        ([None, 1], [None], "call", Strength.ESTABLISHED),
        ([32, 1], [32], "call", Strength.ESTABLISHED),
        ([None, 2], [None, 1], "compile", Strength.SUPPORTED),
        ([32, 2], [None, 1], "compile", Strength.SUPPORTED),
        ([32, 1], [None], "compile", None),
        ([None, 6, 1], [None], "compile", Strength.ESTABLISHED),
        ([None, 6, 1], [None, 6], "compile", None),
        ([None, 6, 3], [None, 6, 3], "compile", None),
        ([None, 2], [None, 3], "compile", None),
        (None, [None], "compile", None),
    ],
)
def test_shapes(tmp_path: Path, predicted: Any, wanted: Any, by: str, found: Strength | None) -> None:
    run = Run(tmp_path / "run")
    output = dense("linear", 1, _MSE, prediction_shape=predicted, target_shape=wanted, by=by)
    trained(run, output, NUMBERS, [1.0] * 6)
    assert [one.strength for one in run.verdict().findings if one.cause == "shapes-broadcast"] == (
        [found] if found is not None else []
    )


def test_the_shapes_are_written_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert title_of(run.first()) == (
        "predictions of shape (n, 6, 1) against targets of shape (n,): every prediction is compared with every target"
    )
    assert facts(run.first())["shapes.compared"]["wanted"] == [None]
    assert remedies(run.first()) == ["output.one-answer-each"]


_MAE, _LEARNS_THE_MEDIAN = "mean_absolute_error", [1.2, 1.0, 0.9, 0.82, 0.8, 0.8]
_N, _N1 = [100], [100, 1]


@pytest.mark.parametrize(
    ("loss", "predicted", "wanted", "deviation", "last", "found"),
    [
        (_MAE, _N, _N1, 0.8, 0.8, Strength.ESTABLISHED),  # the best constant answer, and no better
        (_MAE, _N1, _N, None, 0.8, Strength.SUPPORTED),  # of an older record
        ("huber", _N, _N1, 0.8, 0.4, Strength.SUPPORTED),
        ("huber", _N1, [None], 0.8, 0.4, Strength.POSSIBLE),  # it may be one target for all rows
        (_MAE, _N, _N1, 0.8, 0.2, Strength.POSSIBLE),  # far better than any constant: not of every pair
        ("huber", [4, 100], _N, None, 0.2, Strength.POSSIBLE),  # several predictions for each target
        ("huber", [50, 1, 2], [50, 2], None, 0.2, Strength.POSSIBLE),  # the distances of points to points
        ("huber", [100, 1, 9], [100, 9], None, 0.2, Strength.POSSIBLE),
        ("huber", _N, _N, None, 0.2, None),
        ("huber", [100, 1], [1, 100], None, 0.2, Strength.POSSIBLE),  # written on purpose
    ],
)
def test_a_loss_that_fell_to_that_of_a_constant_answer(
    tmp_path: Path, loss: str, predicted: Any, wanted: Any, deviation: float | None, last: float, found: Any
) -> None:
    run = Run(tmp_path / "run")
    output = dense("linear", 1, loss, prediction_shape=predicted, target_shape=wanted, by="call")
    target = {**NUMBERS, "shape": [1], "median_deviation": deviation}
    trained(run, output, target, [*_LEARNS_THE_MEDIAN[:-1], last])
    seen = [one.strength for one in run.verdict().findings if one.cause == "shapes-broadcast"]
    assert seen == ([found] if found is not None else [])


def test_a_loss_that_is_a_part_of_another_is_not_judged_by_its_fall(tmp_path: Path) -> None:
    """As the first of the terms of an energy distance, which compares every pair on purpose."""
    run = Run(tmp_path / "run")
    output = dense("linear", 1, _MAE, prediction_shape=_N, target_shape=_N1, by="call", part=True)
    trained(run, output, {**NUMBERS, "median_deviation": 0.8}, [1.2, 0.6, 0.5])
    seen = [one.strength for one in run.verdict().findings if one.cause == "shapes-broadcast"]
    assert seen == [Strength.POSSIBLE]


def _refused(run: Run, code: str, message: str, kind: str = "MemoryError", **shapes: list[int]) -> None:
    arrays = [{"name": name, "shape": shape, "dtype": "float32"} for name, shape in shapes.items()]
    run.probe(ev.AtHandSeen(arrays=arrays))
    run.raised(kind, message, user_code=code)


_NUMPY = "Unable to allocate 215. GiB for an array with shape (240000, 240000) and data type float32"
_TORCH = (
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate 230400000000 bytes. "
    "Error code 12 (Cannot allocate memory)"
)
_CUDA = "CUDA out of memory. Tried to allocate 214.58 GiB. GPU 0 has a total capacity of 139 GiB"
_MANY, _COLUMN = [240_000], [240_000, 1]


@pytest.mark.parametrize(
    ("kind", "message", "second"),
    [
        ("MemoryError", _NUMPY, "memory-refused"),
        ("RuntimeError", _TORCH, "memory-refused"),
        (
            "ResourceExhaustedError",
            "OOM when allocating tensor with shape[240000,240000] and type float",
            "memory-refused",
        ),
        ("OutOfMemoryError", _CUDA, "device-memory-exhausted"),
    ],
)
def test_every_pair_is_more_than_there_is_memory(
    tmp_path: Path, kind: str, message: str, second: str
) -> None:
    run = Run(tmp_path / "run")
    _refused(run, "resid = y - p", message, kind, y=_MANY, p=_COLUMN, x=[240_000, 9])
    first, other = run.verdict().findings
    assert (first.cause, first.strength, other.cause) == ("shapes-broadcast", Strength.ESTABLISHED, second)
    assert facts(first)["arrays.stretched"]["column_shape"] == _COLUMN
    assert title_of(first) == (
        "an array of shape (240000, 1) is stretched over one of shape (240000,): the 240,000 times 240,000 pairs do "
        "not fit into memory"
    )


def test_an_operand_without_a_name(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _refused(run, "resid = table.y - p", _NUMPY, rows=_MANY, p=_COLUMN)
    assert (run.first().cause, run.first().strength) == ("shapes-broadcast", Strength.SUPPORTED)


@pytest.mark.parametrize(
    ("code", "shapes"),
    [
        ("d = y[:, None] - p[:, 0]", {"y": _MANY, "p": _COLUMN}),  # every pair on purpose
        ("d = cdist(p, p)", {"p": _COLUMN, "y": _MANY}),
        ("k = p @ p.T", {"p": _COLUMN, "y": _MANY}),
        ("big = numpy.zeros((len(y), len(y)), 'float32')", {"y": _MANY}),
        ("d = grid - y", {"grid": [10, 1], "y": [10]}),  # too small to be what was refused
    ],
)
def test_a_request_that_no_stretching_explains(
    tmp_path: Path, code: str, shapes: dict[str, list[int]]
) -> None:
    run = Run(tmp_path / "run")
    _refused(run, code, _NUMPY, **shapes)
    assert run.slugs() == ["memory-refused"]


def test_jax_fails_where_the_result_is_used(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    message = "INTERNAL: Error dispatching computation: Out of memory allocating 230400000000 bytes."
    squares = [240_000, 240_000]
    _refused(run, "print(float(d.mean()))", message, "JaxRuntimeError", d=squares, p=_COLUMN, y=_MANY)
    assert (run.first().cause, run.first().strength) == ("shapes-broadcast", Strength.SUPPORTED)
    assert run.slugs()[1:] == ["memory-refused"]


@pytest.mark.parametrize(
    ("predicted", "wanted", "losses", "found"),
    [
        (_N1, _N, [0.97, 0.962, 0.962, 0.962], Strength.SUPPORTED),
        (_N1, _N, [1.2, 0.6, 0.1, 0.05], Strength.POSSIBLE),
        (_N1, _N1, [0.97, 0.962, 0.962, 0.962], None),
        ([100, 4], [4], [0.97, 0.962, 0.962, 0.962], None),  # one number for all rows
        ([100], [], [0.97, 0.962, 0.962, 0.962], None),  # a focal loss: one minus what is predicted, squared
    ],
)
def test_a_loss_that_computes_a_difference_twice(
    tmp_path: Path, predicted: Any, wanted: Any, losses: list[float], found: Strength | None
) -> None:
    """A log-cosh that weighs what is too low: both its branches have the size of the difference."""
    run = Run(tmp_path / "run")
    about: dict[str, Any] = {
        "prediction_shape": predicted,
        "target_shape": wanted,
        "by": "step",
        "part": True,
    }
    first, second = (dense("linear", 1, _MAE, **about, output=name) for name in ("", "#1"))
    trained(run, first, NUMBERS, losses, more=(second,))
    seen = [one.strength for one in run.verdict().findings if one.cause == "shapes-broadcast"]
    assert seen == ([found] if found is not None else [])


@pytest.mark.parametrize(
    ("predicted", "wanted", "loss", "found"),
    [
        ([50, 1], [50], "difference", Strength.SUPPORTED),
        ([50], [50, 1], _MSE, Strength.ESTABLISHED),
        ([50, 5], [50, 1], _MSE, None),  # means of a mixture
        ([50, 1], [50, 1], _MSE, None),
    ],
)
def test_inside_a_compiled_loss_of_the_users_own(
    tmp_path: Path, predicted: list[int], wanted: list[int], loss: str, found: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    shapes: dict[str, Any] = {"prediction_shape": predicted, "target_shape": wanted}
    inside = dense("linear", 1, loss, by="step", part=True, where="train.py:8", **shapes)
    compiled = dense("linear", 1, "Pinball", own_loss=True)
    trained(run, compiled, NUMBERS, [1.0] * 6, more=(inside,))
    named = [one for one in run.verdict().findings if one.cause == "shapes-broadcast"]
    assert [one.strength for one in named] == ([found] if found is not None else [])
    if found is not None:
        assert named[0].title.values["where"] == "train.py:8"
