"""Cells with an object, known from what torch keeps of a loss: a mask that a term is multiplied by, or chosen by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.journal.events import DetectionTargetsSeen, ObjectMapsSeen
from holdfast.probe.detection.loop_places import LoopPlaces
from holdfast.probe.loops import torch_loss

from ..probed import new_context, recorded

torch: Any = pytest.importorskip("torch")
functional = torch.nn.functional
pytestmark = pytest.mark.hot


def _cells(first: int) -> tuple[Any, Any]:
    """Ids of 4 x 8 x 8 cells, and which of them have an object."""
    random = np.random.default_rng(0)
    there = random.uniform(size=(4, 8, 8)) < 0.1
    ids = np.where(there, random.integers(0, 3, (4, 8, 8)) + first, 0)
    return torch.from_numpy(ids), torch.from_numpy(there)


def _seen(tmp_path: Path, terms: list[Any]) -> list[DetectionTargetsSeen]:
    context = new_context(tmp_path)
    context.heartbeat.step = 1
    places = LoopPlaces(context, lambda value: None if value is None else value.numpy())
    places.compared(terms)
    places.write()
    return recorded(context, DetectionTargetsSeen)


def _loss(how: str, ids: Any, there: Any) -> Any:
    out = torch.nn.Conv2d(1, 7, 1)(torch.randn(4, 1, 8, 8))
    apart = (out[:, 4:] - torch.rand(4, 3, 8, 8)).abs()
    scores = out[:, :4]
    if how == "multiplied":
        return functional.cross_entropy(scores, ids) + (there[:, None].float() * apart).sum() / there.sum()
    if how == "chosen":
        chosen = apart.permute(0, 2, 3, 1)[there]
        return functional.cross_entropy(scores, ids) + chosen.mean()
    if how == "chosen before":
        chosen = out[:, 4:].permute(0, 2, 3, 1)[there]
        return functional.cross_entropy(scores, ids) + functional.smooth_l1_loss(chosen, chosen.detach() + 1)
    if how == "both chosen":
        chosen = scores.permute(0, 2, 3, 1)[there]
        return functional.cross_entropy(chosen, ids[there]) + apart.permute(0, 2, 3, 1)[there].mean()
    masked = functional.cross_entropy(scores, ids, reduction="none") * there.float()
    return masked.mean() + (there[:, None].float() * apart).sum()


@pytest.mark.parametrize("how", ["multiplied", "chosen", "chosen before"])
def test_ids_of_cells_with_an_object_and_without(tmp_path: Path, how: str) -> None:
    ids, there = _cells(0)
    (seen,) = _seen(tmp_path, torch_loss.compared(_loss(how, ids, there)))
    assert seen.several and seen.box_rows == int(there.sum()) and seen.places == 256
    assert seen.without_box == {"0": 256 - int(there.sum())}
    assert set(seen.with_box) == {"0", "1", "2"} and sum(seen.with_box.values()) == int(there.sum())


@pytest.mark.parametrize("how", ["masked", "both chosen"])
def test_classes_that_count_for_objects_only_say_nothing(tmp_path: Path, how: str) -> None:
    assert _seen(tmp_path, torch_loss.compared(_loss(how, *_cells(0)))) == []


def test_the_channels_of_torch_come_first() -> None:
    found = torch_loss.compared(_loss("multiplied", *_cells(0)))
    assert [one.width for one in found if one.target is not None and "crossentropy" in one.loss] == [4]


def test_maps_of_several_batches_are_added_up(tmp_path: Path) -> None:
    context = new_context(tmp_path)
    context.heartbeat.step = 1
    places = LoopPlaces(context, np.asarray)
    there = np.zeros((5, 8, 8), "float32")
    there[:, 7, 7] = 1
    for _ in range(3):
        places.add_target(there)
    places.write()
    (seen,) = recorded(context, ObjectMapsSeen)
    assert (seen.objects, seen.bottom, seen.right, seen.top) == (15, 15, 15, 0)
