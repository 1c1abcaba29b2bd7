"""The scalars that a loss is put together from, by the variables of the function that differentiates it."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

from holdfast.probe.loop_data.loss_terms import LossTerms, scalars
from holdfast.probe.runtime import user_lines


@pytest.fixture(autouse=True)
def these_lines_are_the_users(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(user_lines, "caller", lambda: sys._getframe(2))
    yield


class Loads:
    def __getattr__(self, name: str) -> Any:
        raise OSError(f"asked for {name}")


def _both(loss: Any, named: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in named.items() if name in ("box", "label")}


def _step(terms: LossTerms, number: float) -> dict[str, float]:
    parts = {"box": tf.constant(number), "label": tf.constant(2.0)}
    weights, connection, epoch = tf.ones((4, 4)), Loads(), 3
    loss = parts["box"] + parts["label"]
    terms.differentiated(loss, _both)
    assert (weights.shape, epoch, type(connection)) == ((4, 4), 3, Loads)
    return terms.take()


def test_values_of_every_step_by_the_names_of_the_first() -> None:
    terms = LossTerms()
    assert [_step(terms, number) for number in (5.0, 4.0, 3.0, 2.0)] == [
        {"box": 5.0, "label": 2.0},
        {"box": 4.0, "label": 2.0},
        {"box": 3.0, "label": 2.0},
        {"box": 2.0, "label": 2.0},
    ]


def test_one_scalar_is_no_sum_of_terms() -> None:
    terms = LossTerms()
    terms.differentiated(tf.constant(1.0), lambda loss, named: dict(list(named.items())[:1]))
    assert terms.take() == {}


def test_variables_by_their_names_and_a_dictionarys_by_its_keys() -> None:
    box, label = tf.constant(1.0), tf.constant(2.0)
    found = scalars({"box": box, "losses": {"label": label}, "image": tf.ones(3), "own": Loads(), "step": 4})
    assert found == {"box": box, "label": label}


def test_nothing_that_the_function_has_dropped_is_kept_alive() -> None:
    class Big:
        pass

    def is_gone() -> bool:
        big, box, label = Big(), tf.constant(1.0), tf.constant(2.0)
        seen = weakref.ref(big)
        LossTerms().differentiated(box + label, _both)
        del big
        return seen() is None

    assert is_gone()
