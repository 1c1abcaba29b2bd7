"""The speed of the data against the speed of the step: judged on numbers, and measured once for real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.rectangles import random_rectangles

from holdfast.pipeline import dataset_columns
from holdfast.pipeline.feed import Feed
from holdfast.pipeline.speed import PipelineSpeed, SpeedOptions, check, judge

MEASURED = PipelineSpeed(whole=100.0, reading=900.0, cores=4, images=300)
NO_MEANS = SpeedOptions(packing_saves=0.1, decoded_fits=False, remote=False)


def told(
    step: float | None, measured: PipelineSpeed = MEASURED, means: SpeedOptions = NO_MEANS
) -> tuple[str, str, str]:
    (finding,) = judge(measured, means, batch=16, step_images_per_s=step)
    return finding.slug, finding.places[0].detail, finding.remedy


def test_a_step_slower_than_the_data_is_fine() -> None:
    assert told(80.0) == (
        "pipeline-speed", "the pipeline gives 100 images/s on 4 cores and a step takes 80 images/s",
        "nothing: the data keeps up",
    )  # fmt: skip


def test_a_faster_step_starves() -> None:
    slug, says, remedy = told(400.0)
    assert slug == "input-starved"
    assert says == (
        "the pipeline gives 100 images/s on 4 cores and a step takes 400 images/s: 75% of the time would be waiting"
    )
    assert remedy.split("; or ") == [
        "give the run 20 cores instead of 4",
    ]


def test_a_narrow_margin_is_said_to_be_narrow() -> None:
    slug, says, _ = told(95.0)
    assert slug == "input-starved" and says.endswith("too close to be sure")


def test_what_helps_most_comes_first() -> None:
    means = SpeedOptions(packing_saves=0.93, decoded_fits=True, remote=True)
    slow_reading = PipelineSpeed(whole=100.0, reading=120.0, cores=2, images=300)
    _, _, remedy = told(400.0, slow_reading, means)
    assert remedy.split("; or ") == [
        "nothing, if the run has several epochs: decoded images fit in memory and are kept from epoch 2 on",
        "copy the data to a local disk: reading alone is what holds it up",
        "`holdfast data pack RECIPE`: small copies spare 93% of the pixels",
        "give the run 10 cores instead of 2",
    ]


def test_without_a_step_it_says_which_step_would_wait() -> None:
    slug, says, _ = told(None)
    assert slug == "pipeline-speed"
    assert says.endswith("a step of 16 that takes less than 160 ms would wait for data")


@pytest.mark.hot
def test_measured_for_real(folder_of: Callable) -> None:
    feed = Feed(height=64, width=64, batch=4)
    data = dataset_columns.columns_of(folder_of(random_rectangles(12), ".jpg"))
    (unhurried,) = check(data, feed, where="r.toml", step_images_per_s=0.001, seconds=0.2)
    assert unhurried.places[0].file == "r.toml"
    assert (unhurried.slug, unhurried.severity) == ("pipeline-speed", "note")
    (starved,) = check(data, feed, step_images_per_s=1e9, seconds=0.2)
    assert (starved.slug, starved.severity) == ("input-starved", "warning")
    assert starved.as_json()["images_per_s"] > 0


@pytest.mark.hot
def test_check_of_a_recipe_asks_a_process_of_its_own(folder_of: Callable, tmp_path: Path) -> None:
    from holdfast.cli.data_speed import measure_data_speed

    folder_of(random_rectangles(12), ".jpg", name="images")
    rows = "".join(f"{number:04d}.jpg,red,1,2,30,40\n" for number in range(12))
    (tmp_path / "images" / "labels.csv").write_text("filename,class,xmin,ymin,xmax,ymax\n" + rows)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[data]\ntrain = "images"\n[model]\ninput = 64\n[train]\nbatch = 4\n')
    (starved,) = measure_data_speed(str(recipe), 1e9)
    assert (starved.slug, starved.severity, starved.places[0].file) == (
        "input-starved", "warning", str(recipe),
    )  # fmt: skip
    assert dict(starved.extra)["step_images_per_s"] == 1e9
    assert "would be waiting" in starved.places[0].detail and "cores instead of" in starved.remedy
    assert measure_data_speed(str(tmp_path / "nothing.toml"), None) == ()
