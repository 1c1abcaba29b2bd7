"""Runs of people's scripts that were once judged wrong, told again by hand."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength, Verdict
from holdfast.explain.readings.error import read_fatal
from holdfast.journal import events as ev
from holdfast.report.verdict import render
from tests.explain.made import Run, sentence


def _first(verdict: Verdict) -> tuple[str, Strength]:
    return verdict.findings[0].cause, verdict.findings[0].strength


def _facts(verdict: Verdict) -> str:
    return "\n".join(sentence(fact) for fact in verdict.findings[0].because)


def test_no_remedy_is_joined_by_a_doubled_or(tmp_path: Path) -> None:
    from holdfast.explain.causes import CAUSES
    from tests.explain.test_causes import ALIVE, told

    for cause in CAUSES:
        if cause.slug in ALIVE:
            continue
        text = render(told(cause.slug, tmp_path / cause.slug))
        assert "  or      or " not in text, text


def test_an_optimizer_that_is_given_no_gradient_at_all_has_nothing_to_train(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    frames = ["train.py:11 <module>", "keras/src/optimizers/base_optimizer.py:463 apply_gradients"]
    run.raised(
        "ValueError",
        "not enough values to unpack (expected 2, got 0)",
        user_line="train.py:11",
        frames=frames,
    )
    assert _first(run.verdict()) == ("nothing-trainable", Strength.ESTABLISHED)
    other = Run(tmp_path / "other")
    other.raised("ValueError", "not enough values to unpack (expected 2, got 0)", user_line="train.py:11")
    assert _first(other.verdict()) == ("script-error", Strength.ESTABLISHED)


def test_a_loss_that_grows_a_hundredfold_may_be_meant(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    for step in range(1, 11):
        run.probe(ev.LossSeen(step=step, logs={"loss": 0.01 * step**2}, learning_rate=0.5))
    run.ended(0)
    assert not [one for one in run.verdict().findings if one.strength >= Strength.SUPPORTED]


def test_a_loss_that_begins_next_to_nothing_may_become_an_ordinary_one(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    for step in range(1, 11):
        run.probe(ev.LossSeen(step=step, logs={"loss": 1e-5 if step < 4 else 2.3}, learning_rate=0.5))
    run.ended(0)
    assert not [one for one in run.verdict().findings if one.strength >= Strength.SUPPORTED]


def _loop(path: Path, losses: list[float]) -> Verdict:
    run = Run(path / "run")
    for number, loss in enumerate(losses):
        run.probe(ev.LossSeen(step=1 + 50 * number, epoch=0, logs={"loss": loss}, step_loss=loss))
    run.ended(0)
    return run.verdict()


def test_losses_that_merely_scatter_blame_nobody(tmp_path: Path) -> None:
    assert _loop(tmp_path, [1.0 + (n * 37 % 11) / 20 + n * 1e-7 for n in range(20)]).findings == ()


def test_a_crash_in_the_garbage_collector_keeps_its_stack() -> None:
    told = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
        '  Garbage-collecting\n  File "/v/tensorflow/execute.py", line 53 in quick_execute\n'
        '  File "/home/me/train.py", line 15 in <module>\n'
    ).replace("/v/", "/v/site-packages/")
    found = read_fatal(told, source="stacks/faulthandler-1.txt")
    assert found is not None
    assert (found.inside, found.where) == (
        "/v/site-packages/tensorflow/execute.py:53 in quick_execute",
        "/home/me/train.py:15 in <module>",
    )


def test_a_run_that_goes_on_from_its_step_0_has_lost_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ended(130, stopped_by_us="interrupt")
    run._supervisor.attempt = run._probe.attempt = 2
    run.supervisor(ev.AttemptStarted(command=["python"], pid=4001))
    run.probe(ev.Restored(path="checkpoints/step-0", by="trainer", iterations=0, optimizer_restored=True))
    run.fit(epochs=1, steps=3, iterations=0)
    run.epochs([3], [8.3])
    run.ended(0)
    assert "resume-lost-state" not in [one.cause for one in run.verdict().findings]
