"""The compiled step: the same update whatever the micro-batch, nothing changed by one that is refused.

Runs on the backend that KERAS_BACKEND names; `test_step_jax.py` runs this file again on JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from holdfast.step.network import Network, names_of
from holdfast.step.optimizer import Layout, OptimizerConfig, apply_update, initial_state
from holdfast.step.step_protocol import is_out_of_memory
from holdfast.train.checkpoint import checkpoint_files
from tests.train import tiny

pytestmark = pytest.mark.hot


def digest(step: Any) -> str:
    return checkpoint_files.digest_of(step.export())


def flat(step: Any, group: str = "weights") -> np.ndarray:
    return np.concatenate([value.ravel() for value in step.export()[group].values()])


@pytest.mark.parametrize(("name", "make"), [
    ("adamw", lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1)),
    ("sgd", lambda: keras.optimizers.SGD(0.01, momentum=0.9, weight_decay=0.1)),
])  # fmt: skip
def test_the_arithmetic_is_keras_own(name: str, make: Any) -> None:
    start = [np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), np.array([[0.5]], np.float32)]
    variables = [keras.Variable(value) for value in start]
    optimizer = make()
    rule, layout = OptimizerConfig(optimizer=name, weight_decay=0.1), Layout(((2, 3), (1, 1)), (False, False))
    now = initial_state(layout.joined(start), rule)
    for turn in range(5):
        gradients = [ops.convert_to_tensor(np.sin(value * 3 + turn).astype(np.float32)) for value in start]
        optimizer.apply(gradients, variables)
        now, facts = advanced(now, gradients, layout, rule, rate=0.01)
        assert bool(facts.applied)
    for variable, weight in zip(variables, layout.parted(now.weights), strict=True):
        np.testing.assert_allclose(np.asarray(variable), np.asarray(weight), rtol=2e-6, atol=1e-7)


def advanced(
    now: Any, gradients: list[Any], layout: Layout, rule: OptimizerConfig, *, rate: float
) -> tuple[Any, Any]:
    numbers = [ops.cast(value, "float32") for value in (1.0, rate)]
    held = ops.convert_to_tensor(False)
    return apply_update(now, layout.joined(gradients), *numbers, held, layout.masks(), rule)


def test_biases_and_scales_do_not_decay() -> None:
    rule, layout = OptimizerConfig(optimizer="sgd", weight_decay=0.5), Layout(((2,), (2, 1)), (False, False))
    now = initial_state(ops.ones((4,)), rule)
    now, _ = advanced(now, [ops.zeros((2,)), ops.zeros((2, 1))], layout, rule, rate=0.1)
    np.testing.assert_allclose(np.asarray(now.weights), [1.0, 1.0, 0.95, 0.95])


def test_what_can_be_held_moves_at_its_own_rate() -> None:
    """A tenth of the step and of the decay for the first weight, of which the mask says that it can be held."""
    rule = OptimizerConfig(optimizer="sgd", weight_decay=0.5, held_rate=0.1)
    layout = Layout(((1, 1), (1, 1)), (True, False))
    now = initial_state(ops.ones((2,)), rule)
    now, _ = advanced(now, [ops.full((1, 1), 2.0), ops.full((1, 1), 2.0)], layout, rule, rate=0.1)
    np.testing.assert_allclose(np.asarray(now.weights), [1.0 - 0.005 - 0.02, 1.0 - 0.05 - 0.2], rtol=1e-6)


def test_clipping_is_by_the_norm_of_all_gradients_together() -> None:
    rule, layout = OptimizerConfig(optimizer="sgd", clip_norm=1.0), Layout(((1, 1), (1, 1)), (False, False))
    now = initial_state(ops.zeros((2,)), rule)
    now, facts = advanced(now, [ops.full((1, 1), 3.0), ops.full((1, 1), 4.0)], layout, rule, rate=1.0)
    assert float(facts.gradient_norm) == pytest.approx(5.0)
    assert np.asarray(now.weights).tolist() == pytest.approx([-0.6, -0.8])


@pytest.mark.parametrize("micro", [8, 4, 2])  # 2×8, 4×4, 8×2 beside 1×16
def test_micro_batches_make_the_same_update_as_the_whole_batch(micro: int) -> None:
    rule = OptimizerConfig(weight_decay=0.01, clip_norm=1.0, ema=0.99)
    whole, parts = tiny.step(rule=rule, size=16), tiny.step(rule=rule, size=16, micro=micro)
    losses = [[seen["loss"] for seen in tiny.run(one, range(30))] for one in (whole, parts)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    np.testing.assert_allclose(flat(whole), flat(parts), rtol=1e-3, atol=1e-5)
    assert losses[0][-1] < losses[0][0]


def test_one_trace_whatever_the_step_and_the_rate() -> None:
    step = tiny.step(micro=4)
    for number in range(3):
        step(tiny.batch(number), step=number, rate=0.1 / (number + 1), held=number < 2)
    assert step.traces() == 1


def test_going_on_from_an_export_gives_the_same_bits() -> None:
    rule = OptimizerConfig(weight_decay=0.01, ema=0.9)
    whole = tiny.step(tiny.network(dropout=True), rule, micro=2)
    tiny.run(whole, range(6))
    first = tiny.step(tiny.network(dropout=True), rule, micro=2)
    tiny.run(first, range(3))
    second = tiny.step(tiny.network(dropout=True), rule, micro=2)
    second.load(first.export())
    assert digest(second) == digest(first)
    tiny.run(second, range(3, 6))
    assert digest(second) == digest(whole)


def test_the_random_state_of_layers_moves_and_is_saved() -> None:
    step = tiny.step(tiny.network(dropout=True))
    before = {name: value for name, value in step.export()["weights"].items() if "seed" in name}
    tiny.run(step, range(1))
    after = {name: value for name, value in step.export()["weights"].items() if "seed" in name}
    assert before
    assert any((before[name] != after[name]).any() for name in before)


def test_held_layers_stay_and_the_others_move() -> None:
    step = tiny.step(rule=OptimizerConfig(weight_decay=0.1))
    before = step.export()["weights"]
    step(tiny.batch(0), step=0, rate=0.1, held=True)
    after = step.export()["weights"]
    moved = {name for name in before if (before[name] != after[name]).any()}
    assert moved
    assert not any("backbone_conv" in name for name in moved)


def poisoned(number: int) -> dict[str, Any]:
    batch = tiny.batch(number)
    batch["boxes"][3, 0, 0] = np.nan
    batch["real"][3, 0] = True
    return batch


def test_a_step_that_is_not_finite_changes_nothing_and_says_where() -> None:
    step = tiny.step(tiny.network(dropout=True), OptimizerConfig(ema=0.9))
    tiny.run(step, range(2))
    before = step.export()
    seen = step.fetch(step(poisoned(2), step=2, rate=0.01, held=False))
    after = step.export()
    assert (seen["finite"], seen["applied"]) == (False, False)
    assert np.isnan(seen["parts"]["box"])
    assert set(seen["norms"]) == set(names_of(step.network.trainable))
    assert int(after["optimizer"].pop("unapplied")) == int(before["optimizer"].pop("unapplied")) + 1
    assert checkpoint_files.digest_of(before) == checkpoint_files.digest_of(after)


def test_after_it_nothing_is_applied_until_somebody_has_looked_unless_tolerated() -> None:
    for tolerated, applied in ((0, False), (1, True)):
        step = tiny.step(rule=OptimizerConfig(tolerated=tolerated))
        step(poisoned(0), step=0, rate=0.01, held=False)
        assert tiny.run(step, range(1, 2))[0]["applied"] is applied


def test_a_loss_that_is_not_finite_is_no_matter_of_its_scale() -> None:
    """The scale is on the gradient alone: halved again and again, it would hide a bad picture for ever."""
    step = tiny.step(rule=OptimizerConfig(loss_scaling=True))
    seen = step.fetch(step(poisoned(0), step=0, rate=0.01, held=False))
    assert (seen["finite"], np.isfinite(seen["loss"])) == (False, False)
    state = step.export()["optimizer"]
    assert (float(state["scale"]), int(state["unapplied"]), int(state["count"])) == (2.0**15, 1, 0)


def led(steps: int, gradient: Callable[[int], list[float]], rule: OptimizerConfig, held: int = 0) -> Any:
    """Two weights of which the first can be held, from zero: the state in the end, and where they were at each step."""
    layout = Layout(((1,), (1,)), (True, False))
    now, path = initial_state(ops.zeros((2,)), rule), []
    for number in range(steps):
        given = ops.convert_to_tensor(np.asarray(gradient(number), np.float32))
        now, _ = apply_update(now, given, ops.cast(1.0, "float32"), ops.cast(1e-3, "float32"),
                                ops.convert_to_tensor(number < held), layout.masks(), rule)  # fmt: skip
        path.append(np.asarray(now.weights))
    return now, np.asarray(path)


def test_the_loss_scale_halves_on_overflow_and_does_not_count_as_divergence() -> None:
    now, path = led(
        2, lambda number: [np.inf, 1.0] if number == 0 else [1.0, 1.0], OptimizerConfig(loss_scaling=True)
    )
    assert (float(now.scale), int(now.unapplied), int(now.count)) == (2.0**14, 0, 1)
    assert (path[0] == 0).all()
    assert (path[1] != 0).all()


def test_a_weight_that_is_let_go_moves_no_faster_than_the_others() -> None:
    """With moments of zero and a count of 1000, Adam made it leap at five times the rate."""
    _, path = led(1100, lambda number: [1.0, 1.0], OptimizerConfig(), held=1000)
    assert (path[:1000, 0] == 0).all()
    np.testing.assert_allclose(
        np.diff(path[999:], axis=0)[:, 0], np.diff(path[999:], axis=0)[:, 1], rtol=1e-4
    )


def test_a_weight_that_is_held_again_is_not_moved_by_its_old_momentum() -> None:
    layout, rule = Layout(((1,), (1,)), (True, False)), OptimizerConfig(optimizer="sgd")
    now = initial_state(ops.zeros((2,)), rule)._replace(first=ops.ones((2,)))
    rate, loss = ops.cast(1e-3, "float32"), ops.cast(1.0, "float32")
    after, _ = apply_update(
        now, ops.ones((2,)), loss, rate, ops.convert_to_tensor(True), layout.masks(), rule
    )
    assert float(after.weights[0]) == 0
    assert float(after.weights[1]) != 0


def test_the_average_follows_the_weights() -> None:
    step = tiny.step(rule=OptimizerConfig(ema=0.5))
    start = step.export()["ema"]
    tiny.run(step, range(1))
    state = step.export()
    decay = min(0.5, 2 / 11)
    for name, before in start.items():
        expected = before * decay + state["weights"][name] * (1 - decay)
        np.testing.assert_allclose(state["ema"][name], expected, rtol=1e-5, atol=1e-6)


def too_large_above(limit: int) -> Network:
    """A network whose loss asks the real allocator for 4 TiB when more than `limit` pictures come at once."""
    net = tiny.network()

    def losses(batch: Any) -> Any:
        parts = net.losses(batch)
        if batch["images"].shape[0] > limit:
            here = ops.cast(batch["images"][0, 0, 0, 0], "float32")
            huge = ops.cumsum(ops.broadcast_to(here, (2**20, 2**20)), axis=0)
            parts["box"] = parts["box"] + ops.sum(huge)
        return parts

    return Network(net.model, losses)


@pytest.mark.proof  # TensorFlow has been seen to hang for ever in a refused allocation
def test_out_of_memory_changes_nothing_and_a_smaller_micro_batch_goes_on() -> None:
    step = tiny.step(too_large_above(4))
    before = digest(step)
    with pytest.raises(Exception) as caught:  # which class, is the backend's affair
        result = step(tiny.batch(0), step=0, rate=0.01, held=False)  # TensorFlow raises here
        try:
            step.fetch(result)  # JAX here
        finally:
            step.undo(result)
    assert is_out_of_memory(caught.value)
    assert digest(step) == before
    smaller = step.split(4)
    assert tiny.run(smaller, range(1))[0]["applied"]
    plain = tiny.step(micro=4)
    tiny.run(plain, range(1))
    assert digest(smaller) == digest(plain)


def test_not_every_error_is_about_memory() -> None:
    assert is_out_of_memory(MemoryError())
    assert not is_out_of_memory(ValueError("shapes (2, 3) and (4,) do not fit"))


def test_paths_that_come_twice_get_their_own_names() -> None:
    class Named:
        def __init__(self, path: str) -> None:
            self.path = path

    assert names_of([Named("a"), Named("b"), Named("a"), Named("a")]) == ["a", "b", "a~1", "a~2"]
    seeds = [
        Named("seed_generator_7/state"),
        Named("x/seed_generator_9/state"),
        Named("seed_generator_8/state"),
    ]
    assert names_of(seeds) == ["seed_generator/state", "x/seed_generator/state", "seed_generator/state~1"]


@pytest.mark.parametrize("micro", [8, 2])
def test_pictures_that_the_step_resizes_make_the_same_update(micro: int) -> None:
    """Sent twice as wide and high, in a row with room to spare: each pixel of the image is the mean of four equals."""
    made = [tiny.step(micro=micro) for _ in range(2)]
    sent: list[dict[str, Any]] = []
    for number in range(3):
        batch = dict(tiny.batch(number))
        images = batch.pop("images")
        double = images.repeat(2, axis=1).repeat(2, axis=2)
        pixels = np.zeros((8, 4 * tiny.SIDE**2 + 5, 3), np.uint8)
        pixels[:, : 4 * tiny.SIDE**2] = double.reshape(8, -1, 3)
        side = 2 * tiny.SIDE
        view = np.tile(np.array([side, side, 0, side, 1, tiny.SIDE, tiny.SIDE, 0, 0], np.int32), (8, 1))
        sent.append(batch | {"pixels": pixels, "view": view})
    seen = [
        [one.fetch(one(batch, step=number, rate=1e-2, held=False)) for number, batch in enumerate(batches)]
        for one, batches in zip(made, ([tiny.batch(n) for n in range(3)], sent), strict=True)
    ]
    np.testing.assert_allclose(*([step["loss"] for step in of_one] for of_one in seen), rtol=1e-6)
    np.testing.assert_allclose(flat(made[0]), flat(made[1]), rtol=1e-5, atol=1e-6)
    assert made[1].traces() == 1
