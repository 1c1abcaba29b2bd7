"""Numbers about what a layer gives, and about predictions."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")

from holdfast.probe.learning import layer_statistics, weight_sample  # noqa: E402


def test_units_that_are_zero_for_every_row() -> None:
    values = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]], "float32")
    found = layer_statistics.of_layer(values, "relu", False)
    assert (found["units"], found["zero"], found["zero_values"]) == (4, 0.5, 0.75)


def test_units_of_a_convolution_are_its_channels() -> None:
    values = np.zeros((3, 2, 5, 5), "float32")
    values[0, 1, 4, 4] = 1.0
    assert layer_statistics.of_layer(values, "relu", True)["zero"] == 0.5
    assert layer_statistics.of_layer(np.moveaxis(values, 1, -1), "relu", False)["zero"] == 0.5


@pytest.mark.parametrize(
    ("activation", "values", "saturated", "stuck"),
    [
        ("sigmoid", [[1.0, 0.5], [1.0, 0.0]], 0.75, 0.5),
        ("tanh", [[1.0, -1.0], [-1.0, -1.0]], 1.0, 0.5),
        ("tanh", [[0.0, 0.9], [0.1, 0.5]], 0.0, 0.0),
    ],
)
def test_values_at_a_limit(
    activation: str, values: list[list[float]], saturated: float, stuck: float
) -> None:
    found = layer_statistics.of_layer(np.array(values, "float32"), activation, False)
    assert (found["saturated"], found["stuck"]) == (saturated, stuck)


def test_predictions_that_are_the_same_for_every_row() -> None:
    same = layer_statistics.of_predictions(np.full((5, 3), [0.2, 0.5, 0.3], "float32"))
    assert (same["rows_differ"], same["classes"], same["shape"]) == (False, {"1": 5}, [3])
    other = layer_statistics.of_predictions(np.array([[0.1], [0.9]], "float32"))
    assert (other["rows_differ"], other["min"], other["max"]) == (True, 0.1, 0.9)


class _Variable:
    def __init__(self, values: object, path: str) -> None:
        self.value, self.path = np.asarray(values, "float32"), path

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape


class _Model:
    def __init__(self, *variables: _Variable) -> None:
        self.trainable_variables = list(variables)


def test_equal_units_and_constants() -> None:
    columns = np.tile(np.arange(6.0)[:, None], (1, 4))
    model = _Model(
        _Variable(columns, "m/dense/kernel"),
        _Variable(np.ones((3, 2)), "m/out/kernel"),
        _Variable([0.0], "m/out/bias"),
    )
    found = weight_sample.sample(model, at_rest=True)
    assert [(one.layer, one.name, one.equal_units, one.constant) for one in found.values()] == [
        ("dense", "kernel", True, False),
        ("out", "kernel", True, True),
        ("out", "bias", None, True),
    ]


def test_of_a_large_variable_a_sample_is_kept() -> None:
    found = weight_sample.sample(
        _Model(_Variable(np.random.default_rng(0).normal(size=(300, 400)), "a/kernel")), at_rest=True
    )
    assert (found[0].size, found[0].values.shape, found[0].equal_units) == (120_000, (2048,), False)
