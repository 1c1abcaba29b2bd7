"""The plan of every setting is the one that was recorded: which images, crops, flips, boxes and colours, bit for bit.

The records were made by the pipeline on tf.data before it was deleted, so a run of then and one of now see the same
images in the same places. A change here changes what every seed means.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline import plan_settings
from tests.pipeline.plan_settings import SETTINGS

RECORDED = json.loads((Path(__file__).parent / "recorded_plans.json").read_text())


@pytest.mark.parametrize("name", SETTINGS)
def test_the_plan_is_the_recorded_one(name: str) -> None:
    assert plan_settings.digests(plan_settings.plan_of(SETTINGS[name])) == RECORDED[name]


def test_steps_planned_together_are_those_planned_alone() -> None:
    setting = SETTINGS["everything"]
    together = plan_settings.plan_of(setting)
    size = setting.feed.batch
    for step in (0, 5):
        alone = plan_settings.plan_of(replace(setting, first_step=setting.first_step + step))
        for name, value in alone.items():
            assert np.array_equal(value[:size], together[name][step * size : (step + 1) * size]), name
