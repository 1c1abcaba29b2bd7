"""An epoch that an error or a request broke off is short for that reason, and for no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.journal import events as ev
from tests.explain.made import Run, title_of


@pytest.mark.parametrize(
    ("steps", "done", "first"),
    [
        ([8, 8, 8, 0], {"raised": "UnknownError", "epochs_done": 3}, "too-many-open-files"),
        ([8, 8, 8, 1], {"stopped": True, "epochs_done": 4}, "stopped-by-callback"),
        ([8, 2, 2, 2], {"epochs_done": 4}, "generator-exhausted"),
        ([8, 2, 2, 2], {"stopped": True, "epochs_done": 4}, "generator-exhausted"),
    ],
)
def test_the_last_epoch_of_a_generator(
    tmp_path: Path, steps: list[int], done: dict[str, Any], first: str
) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=20, steps=None, data=ev.DatasetSeen(type="generator", where="train.py:20"))
    for number, count in enumerate(steps[: done["epochs_done"]]):
        run.probe(ev.EpochDone(fit=1, epoch=number, steps=count, logs={"loss": 1.0 / (number + 1)}))
    if done.get("stopped") and first == "stopped-by-callback":
        run.probe(ev.StopRequested(by="Enough", where="train.py:18", epoch=3, step=25, logs={"loss": 0.1}))
    run.probe(ev.FitDone(fit=1, steps=sum(steps), epochs=len(steps), steps_by_epoch=steps, **done))
    if done.get("raised"):
        run.raised("OSError", "[Errno 24] Too many open files", errno=24)
    else:
        run.ended(0)
    causes = [one.cause for one in run.verdict().findings]
    assert causes[0] == first
    assert ("generator-exhausted" in causes) is (first == "generator-exhausted")


@pytest.mark.parametrize(
    ("batches", "kind", "ended"),
    [
        ([4, 2, 2, 2], "generator", True),
        ([4, 4, 4, 4], "generator", False),
        ([2, 2, 2, 2], "generator", False),
        ([4, 2, 2, 2], "tf.data", False),
    ],
)
def test_a_generator_of_the_validation(tmp_path: Path, batches: list[int], kind: str, ended: bool) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(role="validation", type=kind, where="train.py:22"))
    run.fit(epochs=4)
    for epoch, count in enumerate(batches):
        run.probe(ev.ValidationDone(fit=1, epoch=epoch, batches=count, logs={"loss": 0.5}))
    run.epochs([100] * 4)
    run.ended(0)
    found = run.verdict().findings
    assert [one.cause for one in found] == (["generator-exhausted"] if ended else [])
    if ended:
        assert title_of(found[0]) == (
            "the generator of the validation ended: 3 later validations measured only the first two batches again"
        )
