"""Gradients on torch that reach no weight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.journal.events import GradientsKept, GradientsNotApplied, OutputSeen, StepsWithoutGradients
from holdfast.probe.runtime.context import ProbeContext
from tests.probe.probed import new_context, recorded

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.hot


class Loop:
    """What the hooks around torch call, in the order in which they do."""

    def __init__(self, folder: Path) -> None:
        self.context: ProbeContext = new_context(folder)
        self.seen = self.context.torch_gradients

    def optimizer(self, model: Any, **settings: Any) -> Any:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, **settings)
        self.seen.optimizer_made(optimizer)
        return optimizer

    def backward(self, loss: Any) -> None:
        self.seen.backward_begins(loss)
        loss.backward()
        self.seen.backward_ends()

    def step(self, optimizer: Any) -> None:
        optimizer.step()
        self.seen.stepped(optimizer)

    def end(self) -> None:
        self.seen.report_at_exit()

    def all(self) -> list[Any]:
        return recorded(self.context, GradientsKept, GradientsNotApplied, StepsWithoutGradients)


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    return Loop(tmp_path / "run")


X, Y = torch.randn(16, 4), torch.randn(16, 1)


def _loss(model: Any) -> Any:
    return torch.nn.functional.mse_loss(model(X), Y)


def test_an_optimizer_that_never_steps(loop: Loop) -> None:
    model = torch.nn.Linear(4, 1)
    kept = loop.optimizer(model)
    for _ in range(40):
        loop.backward(_loss(model))
        kept.zero_grad()
    loop.end()
    [seen] = loop.all()
    assert isinstance(seen, GradientsNotApplied)
    assert (seen.times, seen.optimizer) == (40, "SGD")
    assert recorded(loop.context, OutputSeen)[0].loss == "mean_squared_error"


def test_gradients_of_an_input_are_no_training(loop: Loop) -> None:
    model = torch.nn.Linear(4, 1)
    kept = loop.optimizer(model)
    for _ in range(40):
        loop.backward(model(torch.randn(1, 4, requires_grad=True)).sum())
        kept.zero_grad()
    loop.end()
    assert loop.all() == []


def test_an_optimizer_of_another_model(loop: Loop) -> None:
    model, other = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    optimizer = loop.optimizer(other)
    for _ in range(20):
        optimizer.zero_grad()
        loop.backward(_loss(model))
        loop.step(optimizer)
    loop.end()
    [seen] = loop.all()
    assert isinstance(seen, StepsWithoutGradients)
    assert (seen.steps, seen.reached) == (20, False)


@pytest.mark.parametrize("to_none", [True, False])
def test_gradients_cleared_before_the_step(loop: Loop, to_none: bool) -> None:
    model = torch.nn.Linear(4, 1)
    optimizer = loop.optimizer(model)
    for _ in range(20):
        loop.backward(_loss(model))
        optimizer.zero_grad(set_to_none=to_none)
        loop.step(optimizer)
    loop.end()
    [seen] = loop.all()
    assert isinstance(seen, StepsWithoutGradients)
    assert (seen.steps, seen.reached) == (20, True)


def test_gradients_that_are_never_cleared(loop: Loop) -> None:
    model = torch.nn.Linear(4, 1)
    optimizer = loop.optimizer(model)
    for _ in range(20):
        loop.backward(_loss(model))
        loop.step(optimizer)
    loop.end()
    [seen] = loop.all()
    assert isinstance(seen, GradientsKept)
    assert seen.steps == 20


def test_gradients_gathered_over_several_batches(loop: Loop) -> None:
    model = torch.nn.Linear(4, 1)
    optimizer = loop.optimizer(model)
    for number in range(160):
        loop.backward(_loss(model) / 4)
        if number % 4 == 3:
            loop.step(optimizer)
            optimizer.zero_grad(set_to_none=number % 8 == 3)
    loop.end()
    assert loop.all() == []


def test_two_optimizers_in_turn(loop: Loop) -> None:
    """The gradients of one are still there while the other's are computed."""
    first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
    optimizers = loop.optimizer(first), loop.optimizer(second)
    for _ in range(30):
        optimizers[1].zero_grad()
        loop.backward(torch.nn.functional.mse_loss(second(first(X).detach()), Y))
        loop.step(optimizers[1])
        optimizers[0].zero_grad()
        loop.backward(torch.nn.functional.mse_loss(second(first(X)), Y))
        loop.step(optimizers[0])
    loop.end()
    assert loop.all() == []


@pytest.mark.parametrize("frozen", [True, False])
def test_parameters_that_are_all_frozen(loop: Loop, frozen: bool) -> None:
    model = torch.nn.Linear(4, 1)
    model.requires_grad_(not frozen)
    kept = loop.optimizer(model)
    for _ in range(12):
        loss = torch.nn.functional.mse_loss(model(X).detach(), Y).requires_grad_()
        loop.backward(loss)
        loop.step(kept)
    loop.end()
    assert [one.frozen for one in loop.all()] == [5 if frozen else None]


def test_an_optimizer_that_was_given_no_parameter(loop: Loop) -> None:
    """torch refuses an empty list, and takes a group with an empty one."""
    body, head = torch.nn.Linear(4, 2).requires_grad_(False), torch.nn.Linear(2, 1)
    kept = torch.optim.SGD([{"params": [one for one in body.parameters() if one.requires_grad]}], lr=0.1)
    loop.seen.optimizer_made(kept)
    for _ in range(40):
        loop.backward(_loss(torch.nn.Sequential(body, head)))
        loop.context.loop.optimizer_stepped(kept)
        loop.step(kept)
    loop.end()
    [seen] = loop.all()
    assert isinstance(seen, StepsWithoutGradients)
    assert (seen.steps, seen.frozen, seen.optimizer) == (40, 0, "SGD")
    assert loop.context.heartbeat.step == 40


def test_a_group_that_is_empty_beside_one_that_learns(loop: Loop) -> None:
    head = torch.nn.Linear(4, 1)
    kept = torch.optim.SGD([{"params": list(head.parameters())}, {"params": []}], lr=0.1)
    loop.seen.optimizer_made(kept)
    for _ in range(40):
        kept.zero_grad()
        loop.backward(_loss(head))
        loop.context.loop.optimizer_stepped(kept)
        loop.step(kept)
    loop.end()
    assert loop.all() == []
    assert loop.context.heartbeat.step == 40
