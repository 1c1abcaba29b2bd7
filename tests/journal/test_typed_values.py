"""Values are taken as their fields declare them; what does not fit is left out and counted."""

from __future__ import annotations

import math
from typing import Any

import pytest

from holdfast.journal import events as ev
from holdfast.journal import reader, vitals
from holdfast.journal.typed_values import fitting, plain
from holdfast.journal.vitals import Sample


@pytest.mark.parametrize(
    ("field", "value", "taken"),
    [
        ("epochs", 3, 3),
        ("epochs", 3.0, 3),
        ("epochs", None, None),
        ("callbacks", [{"class": "A"}], [{"class": "A"}]),
        ("shuffle", "batch", "batch"),
    ],
)
def test_what_fits(field: str, value: Any, taken: Any) -> None:
    assert fitting(ev.FitStarted, {field: value}) == ({field: taken}, 0)


@pytest.mark.parametrize(
    ("field", "value"),
    [("epochs", "3"), ("epochs", 10**400), ("epochs", math.nan), ("model", 3), ("validation", "yes"), ("callbacks", {}),
     ("callbacks", ["x"])],
)  # fmt: skip
def test_what_does_not(field: str, value: Any) -> None:
    assert fitting(ev.FitStarted, {field: value}) == ({}, 1)


def test_a_log_keeps_its_numbers() -> None:
    kept, _ = fitting(ev.LossSeen, {"logs": {"loss": "inf", "text": "x", "a": 1}})
    assert kept == {"logs": {"loss": math.inf, "a": 1}}


def test_nothing_is_nested_without_end() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    assert plain(deep) is None
    assert plain({"a": [1, "x"]}) == {"a": [1, "x"]}


def test_an_entry_without_a_time_is_none() -> None:
    line = b'{"kind": "stall_ended", "at": %s, "mono": 1, "by": "x", "pid": 1, "attempt": 1, "event": {}}'
    assert len(list(reader.decode([line % b"1.5"]))) == 1
    for at in (b"NaN", b"1e999", b"1e300", b'"x"', b"1" + b"0" * 400):
        assert list(reader.decode([line % at])) == []


def test_a_sample_with_texts_for_numbers() -> None:
    decoded = vitals.decode(
        b'{"at": "x", "mono": 2, "step": "z", "loss": "nan", "processes": [3, {"pid": []}]}'
    )
    assert decoded is not None
    assert (decoded.at, decoded.mono, decoded.step) == (0.0, 2, 0)
    assert decoded.loss is not None and math.isnan(decoded.loss)
    assert vitals.decode(b"[" * 100_000) is None
    assert vitals.decode(b'{"processes": {"a": 1}}') == Sample(processes=[])
