"""Runs of which nothing inside reports: causes by what they print and by what their threads wait for."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain.finding import Outcome, Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, native, summary_of

RAN_OUT = (
    "Epoch 1/2\n 10/100 [==>.......] - ETA: 3s - loss: 0.6012\n"
    "WARNING:tensorflow:Your input ran out of data; interrupting training. Make sure that your dataset or generator "
    "can generate at least `steps_per_epoch * epochs` batches (in this case, 200 batches).\n"
)


def test_the_framework_s_own_warning_is_evidence(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.output(RAN_OUT)
    run.supervisor(
        ev.WarningSeen(text=RAN_OUT.splitlines()[2]),
        ev.ProgressPrinted(step=10, of=100, epoch=1, of_epochs=2),
    )
    run.ended(0)
    verdict = run.verdict()
    assert verdict.outcome is Outcome.STOPPED_EARLY
    assert (verdict.findings[0].cause, verdict.findings[0].strength) == (
        "dataset-exhausted",
        Strength.SUPPORTED,
    )
    assert "step 10 of 100, epoch 1 of 2 (as printed)" in summary_of(verdict)
    assert "view.from-outside" in [fact.kind for fact in verdict.known]


def test_healthy_output_blames_nobody(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.output("".join(f"step {step}/500 loss {1 / (1 + step):.4f}\n" for step in range(0, 500, 20)))
    run.supervisor(ev.ProgressPrinted(step=480, of=500, loss=0.002))
    run.ended(0)
    verdict = run.verdict()
    assert verdict.outcome is Outcome.FINISHED
    assert verdict.findings == ()


def test_what_is_seen_from_inside_counts_more(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.epochs([100, 100, 100])
    run.output("step 7 loss nan\n")
    run.ended(0)
    assert run.blamed() == []


def test_a_fifo_at_standard_input_is_no_person(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.stalled("", native(main=True, wait="anon_pipe_read", syscall="read fd=0 (/tmp/batches)"))
    run.stopped()
    assert run.slugs()[0] == "input-blocked"


def test_a_fit_that_is_seen_from_inside_counts_its_own_steps(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.supervisor(ev.ProgressPrinted(epoch=1, of_epochs=3, text="Epoch 1/3"))
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)
    verdict = run.verdict()
    assert verdict.step == 300
    assert "as printed" not in summary_of(verdict)
