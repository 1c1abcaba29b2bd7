"""Remedies that several causes give."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain.gather import gather
from holdfast.explain.remedies import Before, program_of, resume
from holdfast.journal import events as ev
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


def program(run: Run) -> str:
    return program_of(gather(run.path, now=NOW))


def test_whose_code_is_shown(tmp_path: Path) -> None:
    """A framework that another one imports is not what the program is written in."""
    assert program(Run(tmp_path / "own", watch="train")) == "recipe"
    assert program(Run(tmp_path / "none")) == ""
    torch = Run(tmp_path / "torch")
    torch.probe(
        ev.FrameworkSeen(name="tensorflow"), ev.FrameworkSeen(name="torch"), ev.LoopSeen(by="torch_optimizer")
    )
    assert program(torch) == "torch"
    keras_on_torch = Run(tmp_path / "keras")
    keras_on_torch.probe(ev.FrameworkSeen(name="torch"), ev.FrameworkSeen(name="keras", backend="torch"))
    assert program(keras_on_torch) == "keras"
    jax = Run(tmp_path / "jax")
    jax.probe(ev.FrameworkSeen(name="jax"), ev.FrameworkSeen(name="tensorflow"), ev.LoopSeen(by="jax"))
    assert program(jax) == "jax"
    tape = Run(tmp_path / "tape")
    tape.probe(
        ev.FrameworkSeen(name="jax"), ev.FrameworkSeen(name="tensorflow"), ev.LoopSeen(by="tf_function")
    )
    assert program(tape) == "keras"
