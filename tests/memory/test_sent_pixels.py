"""Where the step resizes pictures, what is planned knows how large they are when they come."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast import settings
from holdfast.memory import data_facts, host_memory
from holdfast.memory.estimate import parameter_count
from holdfast.memory.step_config import StepConfig
from holdfast.settings.recipe import Recipe
from tests.train import shapes

SENT = 157 * 1024  # 400 x 400, up to a multiple of 1024


def recipe(data: Path, *overrides: str) -> Recipe:
    return settings.resolve({"data": {"train": str(data)}}, ["model.input=300", "train.batch=4", *overrides])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shapes.write(tmp_path_factory.mktemp("memory") / "data", 12, side=400)


@pytest.mark.parametrize(
    ("where", "on_gpu", "sent"),
    [("auto", True, SENT), ("auto", False, 0), ("host", True, 0), ("device", False, SENT)],
)
def test_the_plan_knows_what_is_sent(data: Path, where: str, on_gpu: bool, sent: int) -> None:
    wanted = recipe(data, f"data.resize={where}")
    found = data_facts.read_data_facts(wanted, on_gpu=on_gpu)
    assert data_facts.step_config_of(wanted, found).sent_pixels == sent
    beside = host_memory.host_items(data_facts.host_facts_of(wanted, found, state_bytes=0, on_card=on_gpu))
    (batches,) = [line.bytes for line in beside if line.what.startswith("batches")]
    assert batches == 4 * 4 * ((sent or 300 * 300) * 3 + found.boxes * 22)


def test_data_that_is_not_here_is_assumed_to_be_as_large_as_it_may_be(tmp_path: Path) -> None:
    assert data_facts.read_data_facts(recipe(tmp_path / "none"), on_gpu=True).sent_pixels == 4 * 300 * 300
    assert data_facts.read_data_facts(recipe(tmp_path / "none"), on_gpu=False).sent_pixels == 0


def test_a_batch_of_what_is_sent() -> None:
    from holdfast.memory.estimate.step_inputs import batch_of

    setup = StepConfig("ssd", "vgg16", 300, 3, 9, batch=2, micro_batch=2)
    plain, sent = batch_of(setup, 2), batch_of(replace(setup, sent_pixels=SENT), 2)
    assert plain["images"].shape == (2, 300, 300, 3)
    assert sent["pixels"].shape == (2, SENT, 3)
    assert sent["view"].tolist() == [[300, 300, 0, 300, 1, 300, 300, 0, 0]] * 2
    assert "images" not in sent
    counted = parameter_count.counted_breakdown(
        {"trainable": 10, "fixed": 0}, replace(setup, sent_pixels=SENT)
    )
    assert [line.bytes for line in counted.lines if line.what == "one batch"] == [2 * SENT * 3]
