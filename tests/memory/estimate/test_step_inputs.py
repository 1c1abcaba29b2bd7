"""A batch for a prediction."""

from __future__ import annotations

from dataclasses import replace

from holdfast.memory.estimate import parameter_count
from holdfast.memory.step_config import StepConfig

SENT = 157 * 1024  # 400 x 400, up to a multiple of 1024


def test_a_batch_of_what_is_sent() -> None:
    from holdfast.memory.estimate.step_inputs import batch_of

    config = StepConfig("ssd", "vgg16", 300, 3, 9, batch=2, micro_batch=2)
    plain, sent = batch_of(config, 2), batch_of(replace(config, sent_pixels=SENT), 2)
    assert plain["images"].shape == (2, 300, 300, 3)
    assert sent["pixels"].shape == (2, SENT, 3)
    assert sent["view"].tolist() == [[300, 300, 0, 300, 1, 300, 300, 0, 0]] * 2
    assert "images" not in sent
    counted = parameter_count.counted_breakdown(
        {"trainable": 10, "fixed": 0}, replace(config, sent_pixels=SENT)
    )
    assert [item.bytes for item in counted.items if item.label == "one batch"] == [2 * SENT * 3]
