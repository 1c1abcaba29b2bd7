"""Which arrays of a torch loop are its inputs."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.probe.loop_data import torch_layers

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.hot


def test_the_zeros_that_a_recurrent_layer_begins_with_are_no_input() -> None:
    state, rows = torch.zeros(50, 16), torch.ones(12, 3)
    assert torch_layers._without_states([state, rows]) == [rows]


def test_inputs_of_zeros_alone_are_the_inputs() -> None:
    images = torch.zeros(8, 4)
    assert torch_layers._without_states([images]) == [images]
    assert len(torch_layers._without_states([images, torch.zeros(8, 2)])) == 2


def test_the_ids_behind_an_embedding_are_found_beside_the_state() -> None:
    embedding, gru = torch.nn.Embedding(9, 4), torch.nn.GRU(4, 5, batch_first=True)
    ids = torch.arange(24).reshape(6, 4) % 9
    loss = torch.nn.Linear(5, 2)(gru(embedding(ids))[1][-1]).square().mean()
    found = torch_layers._without_states(torch_layers._read(loss)[0])
    assert [one.tolist() for one in found if not one.is_floating_point()] == [ids.tolist()]
    assert all(bool((one != 0).any()) for one in found)
