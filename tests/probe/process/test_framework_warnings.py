"""Warnings are classified by their text."""

from __future__ import annotations

import pytest

from holdfast.probe.process import framework_warnings


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Your input ran out of data; interrupting training.", "out-of-data"),
        ("5 out of the last 5 calls to <function f> triggered tf.function retracing.", "retracing"),
        (
            "Skipping variable loading for optimizer 'adam', because it has 2 variables",
            "optimizer-not-restored",
        ),
        ("Early stopping conditioned on metric `val_los` which is not available.", "monitor-missing"),
        ("Gradients do not exist for variables ['w'] when minimizing the loss.", "no-gradients"),
        ("The model does not have any trainable weights.", "nothing-trainable"),
        ("all is well", ""),
    ],
)
def test_warnings_that_matter_are_known(text: str, category: str) -> None:
    assert framework_warnings.classify(text) == category
