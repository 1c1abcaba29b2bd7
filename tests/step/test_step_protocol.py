"""The compiled step: the same update whatever the micro-batch, and no change by one that fails.

Runs on the backend that KERAS_BACKEND names; `test_jax_step.py` runs this file again on JAX.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from keras import ops

from holdfast.step.network import Network, names_of
from holdfast.step.optimizer import OptimizerConfig
from holdfast.step.step_protocol import is_out_of_memory
from holdfast.train.checkpoint import checkpoint_files
from tests.train import tiny

pytestmark = pytest.mark.hot


def digest(step: Any) -> str:
    return checkpoint_files.digest_of(step.export())


def flat(step: Any, group: str = "weights") -> np.ndarray:
    return np.concatenate([value.ravel() for value in step.export()[group].values()])


@pytest.mark.parametrize("micro", [8, 4, 2])  # 2×8, 4×4, 8×2 beside 1×16
def test_micro_batches_make_the_same_update_as_the_full_batch(micro: int) -> None:
    config = OptimizerConfig(weight_decay=0.01, clip_norm=1.0, ema=0.99)
    whole, parts = tiny.step(config=config, size=16), tiny.step(config=config, size=16, micro=micro)
    losses = [[seen["loss"] for seen in tiny.run(one, range(30))] for one in (whole, parts)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    np.testing.assert_allclose(flat(whole), flat(parts), rtol=1e-3, atol=1e-5)
    assert losses[0][-1] < losses[0][0]


def test_one_trace_whatever_the_step_and_the_learning_rate() -> None:
    step = tiny.step(micro=4)
    for number in range(3):
        step(tiny.batch(number), step=number, learning_rate=0.1 / (number + 1), frozen=number < 2)
    assert step.traces() == 1


def test_resuming_from_an_export_gives_the_same_bits() -> None:
    config = OptimizerConfig(weight_decay=0.01, ema=0.9)
    whole = tiny.step(tiny.network(dropout=True), config, micro=2)
    tiny.run(whole, range(6))
    first = tiny.step(tiny.network(dropout=True), config, micro=2)
    tiny.run(first, range(3))
    second = tiny.step(tiny.network(dropout=True), config, micro=2)
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


def test_frozen_layers_do_not_change_and_the_others_do() -> None:
    step = tiny.step(config=OptimizerConfig(weight_decay=0.1))
    before = step.export()["weights"]
    step(tiny.batch(0), step=0, learning_rate=0.1, frozen=True)
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
    seen = step.fetch(step(poisoned(2), step=2, learning_rate=0.01, frozen=False))
    after = step.export()
    assert (seen["finite"], seen["applied"]) == (False, False)
    assert np.isnan(seen["parts"]["box"])
    assert set(seen["norms"]) == set(names_of(step.network.trainable))
    assert int(after["optimizer"].pop("unapplied")) == int(before["optimizer"].pop("unapplied")) + 1
    assert checkpoint_files.digest_of(before) == checkpoint_files.digest_of(after)


def test_after_it_nothing_is_applied_unless_tolerated() -> None:
    for tolerated, applied in ((0, False), (1, True)):
        step = tiny.step(config=OptimizerConfig(tolerated=tolerated))
        step(poisoned(0), step=0, learning_rate=0.01, frozen=False)
        assert tiny.run(step, range(1, 2))[0]["applied"] is applied


def test_the_ema_follows_the_weights() -> None:
    step = tiny.step(config=OptimizerConfig(ema=0.5))
    start = step.export()["ema"]
    tiny.run(step, range(1))
    state = step.export()
    decay = min(0.5, 2 / 11)
    for name, before in start.items():
        expected = before * decay + state["weights"][name] * (1 - decay)
        np.testing.assert_allclose(state["ema"][name], expected, rtol=1e-5, atol=1e-6)


def too_large_above(limit: int) -> Network:
    """A network whose loss asks the real allocator for 4 TiB when more than `limit` images come at once."""
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
def test_out_of_memory_changes_nothing_and_a_smaller_micro_batch_continues() -> None:
    step = tiny.step(too_large_above(4))
    before = digest(step)
    with pytest.raises(Exception) as caught:  # which class, is the backend's affair
        result = step(tiny.batch(0), step=0, learning_rate=0.01, frozen=False)  # TensorFlow raises here
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
