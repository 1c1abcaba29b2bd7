"""Remedies that several causes give."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain.gather import gather
from holdfast.explain.remedies import Before, resume
from tests.explain.made import NOW, Run, code_of, do_of


def test_a_run_of_our_own_trainer_can_be_resumed(tmp_path: Path) -> None:
    run = Run(tmp_path / "train", watch="train")
    started = resume(gather(run.path, now=NOW), before=Before.MAKE_ROOM)
    assert started is not None
    assert started.values == {"saved_step": None, "before": "make-room"}
    assert do_of(started) == "make room, then start again: no step was saved"
    (run.path / "checkpoints" / "step-001200").mkdir(parents=True)
    resumed = resume(gather(run.path, now=NOW), before=Before.MAKE_ROOM)
    assert resumed is not None
    assert (do_of(resumed), code_of(resumed)) == (
        "make room, then resume from step 1,200, which is saved", "holdfast train --resume --run-dir RUN"
    )  # fmt: skip


def test_any_other_run_cannot(tmp_path: Path) -> None:
    assert resume(gather(Run(tmp_path / "run").path, now=NOW)) is None
