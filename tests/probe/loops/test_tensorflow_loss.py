"""Which loss a tape differentiates, by the graph of its function."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.probe.loops import tensorflow_loss
from holdfast.probe.loops.loss_calls import ComparedValues

pytestmark = pytest.mark.hot


@pytest.fixture(scope="module")
def tf() -> Any:
    return pytest.importorskip("tensorflow")


def _traced(tf: Any, loss: Any) -> list[ComparedValues]:
    found: list[ComparedValues] = []
    kernel, ids = tf.Variable(tf.ones((4, 3))), tf.zeros((8,), tf.int64)

    def step(x: Any) -> Any:
        value = loss(tf, tf.matmul(x, kernel), ids)
        found.extend(tensorflow_loss.in_graph(value))
        return value

    tf.function(step, autograph=False)(tf.ones((8, 4)))
    return found


@pytest.mark.parametrize(
    ("activation", "seen"),
    [
        (lambda tf, x: x, "linear"),
        (lambda tf, x: tf.nn.softmax(x), "softmax"),
        (lambda tf, x: tf.nn.relu(x), "relu"),
    ],
)
def test_the_last_activation_before_a_cross_entropy(tf: Any, activation: Any, seen: str) -> None:
    def loss(tf: Any, logits: Any, ids: Any) -> Any:
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=activation(tf, logits))
        )

    [one] = _traced(tf, loss)
    assert (one.loss, one.from_logits, one.activation) == ("sparse_categorical_crossentropy", True, seen)
    assert (one.prediction_shape, one.target_shape, one.part) == ((8, 3), (8,), False)


def test_a_squared_difference_that_broadcasts(tf: Any) -> None:
    def loss(tf: Any, logits: Any, ids: Any) -> Any:
        return tf.reduce_mean(tf.square(logits[:, :1] - tf.cast(ids, tf.float32)))

    [one] = _traced(tf, loss)
    assert (one.loss, one.prediction_shape, one.target_shape) == ("mean_squared_error", (8, 1), (8,))


def test_a_huber_loss_that_is_written_out(tf: Any) -> None:
    def loss(tf: Any, logits: Any, ids: Any) -> Any:
        error = logits[:, 0] - tf.cast(ids, tf.float32)[:, None]
        size = tf.abs(error)
        return tf.reduce_mean(tf.where(size < 1.0, 0.5 * tf.square(error), 1.0 * (size - 0.5)))

    [one] = _traced(tf, loss)
    assert (one.loss, one.part) == ("huber", False)
    assert (one.prediction_shape, one.target_shape) == ((8,), (8, 1))


def test_a_scaled_loss_is_a_part_and_an_unknown_one_is_none(tf: Any) -> None:
    def scaled(tf: Any, logits: Any, ids: Any) -> Any:
        return 0.5 * tf.reduce_mean(tf.square(logits - tf.ones((8, 3))))

    [one] = _traced(tf, scaled)
    assert one.part
    assert _traced(tf, lambda tf, logits, ids: tf.reduce_sum(tf.exp(logits))) == []
