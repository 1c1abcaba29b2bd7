"""What the framework warned of, next to an end that is no fault."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, sentence

_SOFTMAX = (
    "You are using a softmax over axis -1 of a tensor of shape (50, 1). This axis has size 1. The softmax operation "
    "will always return the value 1, which is likely not what you intended. Did you mean to use a sigmoid instead?"
)


def test_what_keras_warned_of_is_a_finding_where_it_makes_the_result_meaningless(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for text, where in (
        (_SOFTMAX, "train.py:6"),
        (_SOFTMAX.replace("50", "32"), "train.py:9"),  # the same again
        (
            "`shuffle=True` was passed, but will be ignored since the data `x` was a tf.data.Dataset.",
            "train.py:9",
        ),
        ("Gradients do not exist for variables ['gate/kernel'] when minimizing the loss.", "train.py:9"),
    ):
        run.probe(ev.WarningSeen(category="UserWarning", text=text, where=where, count=1))
    run.fit(epochs=2)
    run.probe(ev.EpochDone(fit=1, epoch=1, steps=100, logs={"loss": 0.4}))
    run.probe(ev.FitDone(fit=1, steps=200, epochs_done=2, weights_changed=True))
    run.ended(0)
    verdict = run.verdict()
    first = verdict.findings[0]
    assert (first.cause, first.strength) == ("framework-warning", Strength.SUPPORTED)
    assert not verdict.went_well
    assert [sentence(fact) for fact in first.because] == [
        f"train.py:6: {_SOFTMAX}",
        "train.py:9: Gradients do not exist for variables ['gate/kernel'] when minimizing the loss.",
    ]
    assert verdict.warned == ()  # said once
