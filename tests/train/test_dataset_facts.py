"""What memory prediction reads from the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import settings
from holdfast.host.process_limits import usable_cores
from holdfast.memory import data_facts, host_memory
from holdfast.pipeline.feed import batches_ahead
from holdfast.settings.recipe import Recipe
from holdfast.train.dataset_facts import read_data_facts
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
    configured = recipe(data, f"data.resize={where}")
    found = read_data_facts(configured, on_gpu=on_gpu)
    assert data_facts.step_config_of(configured, found).sent_pixels == sent
    host = host_memory.host_items(data_facts.host_facts_of(configured, found, state_bytes=0, on_gpu=on_gpu))
    (batches,) = [item.bytes for item in host if item.label.startswith("batches")]
    ahead = batches_ahead(4, usable_cores())
    assert batches == (ahead + 2) * 4 * ((sent or 300 * 300) * 3 + found.max_boxes * 22)


def test_data_that_is_not_here_is_assumed_to_be_as_large_as_it_may_be(tmp_path: Path) -> None:
    assert read_data_facts(recipe(tmp_path / "none"), on_gpu=True).sent_pixels == 4 * 300 * 300
    assert read_data_facts(recipe(tmp_path / "none"), on_gpu=False).sent_pixels == 0
