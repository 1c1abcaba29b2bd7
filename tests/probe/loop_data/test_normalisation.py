"""Moving averages against the batches that they were made of."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.probe.loop_data import normalisation

numpy = pytest.importorskip("numpy")


def _updated(momentum: float, updates: int) -> list[dict[str, Any]]:
    """Averages that began at 0 and 1, of batches with a mean of 5 and a variance of 9."""
    mean, variance = numpy.zeros(4), numpy.ones(4)
    before = {"norm": (mean, variance, momentum)}
    for _ in range(updates):
        mean, variance = (
            momentum * one + (1 - momentum) * now for one, now in ((mean, 5.0), (variance, 9.0))
        )
    return normalisation.compared(before, {"norm": (mean, variance, momentum)}, updates)


def test_averages_that_lag() -> None:
    (row,) = _updated(0.9999, 400)
    assert row["left"] == pytest.approx(0.961, abs=0.001)
    assert row["mean_off"] == pytest.approx(5 / 3 * 0.961, rel=0.01)
    assert row["times"] == pytest.approx(9 / (1 + 8 * 0.0392), rel=0.01)


def test_averages_that_fit() -> None:
    (row,) = _updated(0.9, 400)
    assert (row["mean_off"], row["times"]) == (pytest.approx(0.0, abs=1e-3), pytest.approx(1.0, abs=1e-3))


def test_averages_of_weights_that_others_trained() -> None:
    """They had fitted before, and have hardly been updated since."""
    mean, variance = numpy.full(4, 5.0), numpy.full(4, 9.0)
    now = normalisation.compared({"a": (mean, variance, 0.999)}, {"a": (mean + 1e-3, variance, 0.999)}, 100)
    assert now[0]["left"] > 0.9
    assert now[0]["mean_off"] < 0.1 and now[0]["times"] < 1.1


def test_averages_that_were_not_updated() -> None:
    assert (
        normalisation.compared(
            {"a": (numpy.zeros(4), numpy.ones(4), 0.99)}, {"a": (numpy.zeros(4), numpy.ones(4), 0.99)}, 100
        )
        == []
    )


@pytest.mark.hot
def test_the_averages_of_a_model() -> None:
    keras = pytest.importorskip("keras")
    inner = keras.Sequential([keras.layers.Dense(4), keras.layers.BatchNormalization(momentum=0.9)])
    model = keras.Sequential([keras.Input((3,)), inner, keras.layers.BatchNormalization(momentum=0.99)])
    found = normalisation.averages(model)
    assert [one[2] for one in found.values()] == [0.9, 0.99]
    assert all(one[0].tolist() == [0.0] * 4 and one[1].tolist() == [1.0] * 4 for one in found.values())
