"""Which loss torch differentiates, and what its predictions went through last."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.probe.loops import torch_loss
from holdfast.probe.loops.loss_calls import ComparedValues

torch: Any = pytest.importorskip("torch")
functional = torch.nn.functional
pytestmark = pytest.mark.hot


def _of(loss: Any) -> ComparedValues:
    found = torch_loss.compared(loss)
    assert len(found) == 1
    return found[0]


@pytest.fixture
def logits() -> Any:
    return torch.nn.Linear(4, 3)(torch.randn(8, 4))


@pytest.fixture
def one() -> Any:
    return torch.nn.Linear(4, 1)(torch.randn(8, 4))


IDS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 0])


def test_cross_entropy_of_logits(logits: Any) -> None:
    seen = _of(functional.cross_entropy(logits, IDS))
    assert (seen.loss, seen.from_logits) == ("sparse_categorical_crossentropy", True)
    assert (seen.activation, seen.layer, seen.part) == ("linear", "Addmm", False)
    assert (seen.prediction_shape, seen.target_shape) == ((8, 3), (8,))
    assert seen.target.tolist() == IDS.tolist()


def test_cross_entropy_under_autocast_takes_logits_too(logits: Any) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        loss = functional.cross_entropy(torch.nn.Linear(3, 3)(logits), IDS)
    seen = _of(loss)
    assert (seen.loss, seen.from_logits, seen.activation) == (
        "sparse_categorical_crossentropy",
        True,
        "linear",
    )


def test_cross_entropy_of_probabilities_shows_the_softmax_and_its_values(logits: Any) -> None:
    probabilities = torch.softmax(logits, 1)
    seen = _of(functional.cross_entropy(probabilities, IDS))
    assert (seen.loss, seen.from_logits, seen.activation) == (
        "sparse_categorical_crossentropy",
        True,
        "softmax",
    )
    assert torch.equal(seen.prediction, probabilities)


def test_nll_loss_takes_log_probabilities(logits: Any) -> None:
    seen = _of(functional.nll_loss(logits, IDS))
    assert (seen.loss, seen.from_logits, seen.activation) == (
        "sparse_categorical_crossentropy",
        False,
        "linear",
    )


def test_targets_may_be_probabilities(logits: Any) -> None:
    targets = functional.one_hot(IDS, 3).float()
    seen = _of(functional.cross_entropy(logits, targets))
    assert (seen.loss, seen.from_logits, seen.activation) == ("categorical_crossentropy", True, "linear")
    assert torch.equal(seen.target, targets)


def test_a_sigmoid_before_a_loss_that_has_its_own(one: Any) -> None:
    seen = _of(functional.binary_cross_entropy_with_logits(torch.sigmoid(one), torch.ones(8, 1)))
    assert (seen.loss, seen.from_logits, seen.activation) == ("binary_crossentropy", True, "sigmoid")
    assert _of(functional.binary_cross_entropy(torch.sigmoid(one), torch.ones(8, 1))).from_logits is False


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_shapes_that_broadcast_are_those_before(one: Any) -> None:
    seen = _of(functional.mse_loss(one, torch.arange(8.0)))
    assert (seen.loss, seen.prediction_shape, seen.target_shape) == ("mean_squared_error", (8, 1), (8,))
    assert seen.target.tolist() == list(range(8))
    assert torch.equal(seen.prediction.reshape(-1), one.detach().reshape(-1))


def test_a_loss_that_is_written_out(one: Any) -> None:
    seen = _of(((one - torch.randn(8)) ** 2).mean())
    assert (seen.loss, seen.prediction_shape, seen.target_shape) == ("mean_squared_error", (8, 1), (8,))
    assert _of((one - torch.randn(8, 1)).abs().mean()).loss == "mean_absolute_error"
    assert torch_loss.compared((one**3).mean()) == []


def test_a_loss_that_is_scaled_or_summed_is_a_part(one: Any) -> None:
    targets = torch.randn(8, 1)
    assert not _of(functional.mse_loss(one, targets)).part
    assert _of(functional.mse_loss(one, targets) / 4).part
    assert _of(functional.mse_loss(one, targets, reduction="sum")).part
    assert _of(functional.mse_loss(one, targets) + 0.1 * one.pow(2).sum()).part


def test_several_losses_in_one(one: Any) -> None:
    both = functional.mse_loss(one, torch.ones(8, 1)) + functional.huber_loss(one, torch.ones(8, 1))
    assert [seen.loss for seen in torch_loss.compared(both)] == ["mean_squared_error", "huber"]


def test_the_last_activation_is_found_behind_a_change_of_shape() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.ReLU())
    seen = _of(functional.mse_loss(net(torch.randn(8, 4)).squeeze(1), torch.randn(8)))
    assert (seen.activation, seen.prediction_shape) == ("relu", (8,))


def test_leaves_are_the_tensors_that_get_a_gradient() -> None:
    net, x = torch.nn.Linear(4, 1), torch.randn(8, 4, requires_grad=True)
    found = torch_loss.leaves(net(x).sum())
    assert {id(leaf) for leaf in found} == {id(net.weight), id(net.bias), id(x)}


def test_the_terms_of_a_loss(logits: Any, one: Any) -> None:
    kind, box = functional.cross_entropy(logits, IDS), (one**2).mean()
    loss = kind + 2.0 * box
    named = {"kind": kind, "box": box, "other": (one - 1).mean(), "loss": loss}
    assert set(torch_loss.terms(loss, named)) == {"kind", "box"}
