"""One update: the arithmetic of Keras, decay, clipping, frozen variables, the loss scale.

Runs on the backend that KERAS_BACKEND names; `test_jax_step.py` runs this file again on JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from holdfast.step.optimizer import Layout, OptimizerConfig, apply_update, initial_state
from tests.train import tiny

pytestmark = pytest.mark.hot


@pytest.mark.parametrize(("name", "make"), [
    ("adamw", lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1)),
    ("sgd", lambda: keras.optimizers.SGD(0.01, momentum=0.9, weight_decay=0.1)),
])  # fmt: skip
def test_the_arithmetic_is_keras_own(name: str, make: Any) -> None:
    start = [np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), np.array([[0.5]], np.float32)]
    variables = [keras.Variable(value) for value in start]
    optimizer = make()
    config, layout = (
        OptimizerConfig(optimizer=name, weight_decay=0.1),
        Layout(((2, 3), (1, 1)), (False, False)),
    )
    now = initial_state(layout.flatten(start), config)
    for turn in range(5):
        gradients = [ops.convert_to_tensor(np.sin(value * 3 + turn).astype(np.float32)) for value in start]
        optimizer.apply(gradients, variables)
        now, facts = advanced(now, gradients, layout, config, learning_rate=0.01)
        assert bool(facts.applied)
    for variable, weight in zip(variables, layout.unflatten(now.weights), strict=True):
        np.testing.assert_allclose(np.asarray(variable), np.asarray(weight), rtol=2e-6, atol=1e-7)


def advanced(
    now: Any, gradients: list[Any], layout: Layout, config: OptimizerConfig, *, learning_rate: float
) -> tuple[Any, Any]:
    numbers = [ops.cast(value, "float32") for value in (1.0, learning_rate)]
    frozen = ops.convert_to_tensor(False)
    return apply_update(now, layout.flatten(gradients), *numbers, frozen, layout.masks(), config)


def test_biases_and_scales_do_not_decay() -> None:
    config, layout = (
        OptimizerConfig(optimizer="sgd", weight_decay=0.5),
        Layout(((2,), (2, 1)), (False, False)),
    )
    now = initial_state(ops.ones((4,)), config)
    now, _ = advanced(now, [ops.zeros((2,)), ops.zeros((2, 1))], layout, config, learning_rate=0.1)
    np.testing.assert_allclose(np.asarray(now.weights), [1.0, 1.0, 0.95, 0.95])


def test_the_backbone_has_its_own_learning_rate() -> None:
    """A tenth of the step and of the decay for the first weight, which the mask marks as freezable."""
    config = OptimizerConfig(optimizer="sgd", weight_decay=0.5, backbone_lr_factor=0.1)
    layout = Layout(((1, 1), (1, 1)), (True, False))
    now = initial_state(ops.ones((2,)), config)
    now, _ = advanced(now, [ops.full((1, 1), 2.0), ops.full((1, 1), 2.0)], layout, config, learning_rate=0.1)
    np.testing.assert_allclose(np.asarray(now.weights), [1.0 - 0.005 - 0.02, 1.0 - 0.05 - 0.2], rtol=1e-6)


def test_clipping_is_by_the_norm_of_all_gradients_together() -> None:
    config, layout = OptimizerConfig(optimizer="sgd", clip_norm=1.0), Layout(((1, 1), (1, 1)), (False, False))
    now = initial_state(ops.zeros((2,)), config)
    now, facts = advanced(
        now, [ops.full((1, 1), 3.0), ops.full((1, 1), 4.0)], layout, config, learning_rate=1.0
    )
    assert float(facts.gradient_norm) == pytest.approx(5.0)
    assert np.asarray(now.weights).tolist() == pytest.approx([-0.6, -0.8])


def poisoned(number: int) -> dict[str, Any]:
    batch = tiny.batch(number)
    batch["boxes"][3, 0, 0] = np.nan
    batch["real"][3, 0] = True
    return batch


def test_a_loss_that_is_not_finite_does_not_change_the_loss_scale() -> None:
    """The scale is on the gradient alone: halved again and again, it would hide a bad image for ever."""
    step = tiny.step(config=OptimizerConfig(loss_scaling=True))
    seen = step.fetch(step(poisoned(0), step=0, learning_rate=0.01, frozen=False))
    assert (seen["finite"], np.isfinite(seen["loss"])) == (False, False)
    state = step.export()["optimizer"]
    assert (float(state["scale"]), int(state["unapplied"]), int(state["count"])) == (2.0**15, 1, 0)


def led(steps: int, gradient: Callable[[int], list[float]], config: OptimizerConfig, frozen: int = 0) -> Any:
    """Two weights of which the first can be frozen, from zero: the final state, and where they were at each step."""
    layout = Layout(((1,), (1,)), (True, False))
    now, path = initial_state(ops.zeros((2,)), config), []
    for number in range(steps):
        given = ops.convert_to_tensor(np.asarray(gradient(number), np.float32))
        now, _ = apply_update(now, given, ops.cast(1.0, "float32"), ops.cast(1e-3, "float32"),
                                ops.convert_to_tensor(number < frozen), layout.masks(), config)  # fmt: skip
        path.append(np.asarray(now.weights))
    return now, np.asarray(path)


def test_the_loss_scale_halves_on_overflow_and_does_not_count_as_divergence() -> None:
    now, path = led(
        2, lambda number: [np.inf, 1.0] if number == 0 else [1.0, 1.0], OptimizerConfig(loss_scaling=True)
    )
    assert (float(now.scale), int(now.unapplied), int(now.count)) == (2.0**14, 0, 1)
    assert (path[0] == 0).all()
    assert (path[1] != 0).all()


def test_an_unfrozen_weight_moves_no_faster_than_the_others() -> None:
    """With moments of zero and a count of 1000, Adam moved it at five times the learning rate."""
    _, path = led(1100, lambda number: [1.0, 1.0], OptimizerConfig(), frozen=1000)
    assert (path[:1000, 0] == 0).all()
    np.testing.assert_allclose(
        np.diff(path[999:], axis=0)[:, 0], np.diff(path[999:], axis=0)[:, 1], rtol=1e-4
    )


def test_a_frozen_weight_is_not_moved_by_its_old_momentum() -> None:
    layout, config = Layout(((1,), (1,)), (True, False)), OptimizerConfig(optimizer="sgd")
    now = initial_state(ops.zeros((2,)), config)._replace(first_moment=ops.ones((2,)))
    learning_rate, loss = ops.cast(1e-3, "float32"), ops.cast(1.0, "float32")
    after, _ = apply_update(
        now, ops.ones((2,)), loss, learning_rate, ops.convert_to_tensor(True), layout.masks(), config
    )
    assert float(after.weights[0]) == 0
    assert float(after.weights[1]) != 0
