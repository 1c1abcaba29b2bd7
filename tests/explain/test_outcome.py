"""How a run ended, how far it got, and what else is known of it."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Outcome, Verdict, explain
from holdfast.explain.gather import gather
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, Thread
from tests.explain.made import (
    MIB,
    NOW,
    Run,
    main_in_fit,
    python_thread,
    remedies,
    sentence,
    summary_of,
    title_of,
    user,
)

_QUEUE = Frame("/usr/lib/python3.11/queue.py", 171, "Queue.get")
_LOCK = Frame("/usr/lib/python3.11/threading.py", 327, "Condition.wait")


def _search(path: Path, *raised: str, code: int = 0) -> Verdict:
    run = Run(path)
    for number, kind in enumerate(raised, 1):
        run.probe(ev.FitStarted(fit=number, epochs=4, planned_steps_per_epoch=8))
        steps = [8, 8] if kind else [8] * 4
        if kind:
            run.probe(
                ev.ExceptionRaised(
                    type=kind, left="fit", caught=None, user_line="train.py:16", process="main"
                )
            )
        done = {"steps": sum(steps), "epochs": len(steps), "epochs_done": len(steps), "steps_by_epoch": steps}
        run.probe(ev.FitDone(fit=number, raised=kind, **done))  # type: ignore[arg-type]
    run.samples(1, step=sum(16 if kind else 32 for kind in raised), phase="after")
    run.ended(code)
    return run.verdict()


def test_trials_that_were_pruned_are_no_early_end(tmp_path: Path) -> None:
    verdict = _search(tmp_path / "run", "", "", "Pruned", "Pruned", "Pruned")
    assert (verdict.outcome, verdict.findings) == ("finished", ())
    assert sentence(verdict.known[0]) == (
        "3 of 5 fits were ended by Pruned at train.py:16; the script caught it and continued"
    )


def test_a_search_that_was_interrupted_is_one(tmp_path: Path) -> None:
    assert _search(tmp_path / "run", "", "", "KeyboardInterrupt").outcome == "stopped-early"


def test_nor_did_a_search_end_well_in_which_no_trial_got_through(tmp_path: Path) -> None:
    verdict = _search(tmp_path / "run", "ValueError", "ValueError")
    assert verdict.outcome == "stopped-early"
    assert verdict.findings[0].cause == "script-error"


def _folds(run: Run, stopped: set[int]) -> None:
    watcher = {"class": "EarlyStopping", "settings": {"monitor": "val_loss", "patience": 2}}
    for fold in range(1, 6):
        run.probe(
            ev.FitStarted(fit=fold, epochs=5, planned_steps_per_epoch=100, callbacks=[watcher], iterations=0)
        )
        count = 3 if fold in stopped else 5
        for epoch in range(count):
            logs = {"loss": 1 / (epoch + 1), "val_loss": 1 / (epoch + 1)}
            run.probe(ev.EpochDone(fit=fold, epoch=epoch, steps=100, logs=logs, duration_s=10))
        run.probe(
            ev.FitDone(fit=fold, steps=100 * count, epochs=5, epochs_done=count, stopped=fold in stopped,
                       steps_by_epoch=[100] * count)
        )  # fmt: skip


def test_a_fold_that_was_stopped_early_is_no_early_end(tmp_path: Path) -> None:
    run = Run(tmp_path)
    _folds(run, {2})
    run.ended(0)
    assert (run.verdict().outcome, run.verdict().went_well) == ("finished", True)


def test_a_fit_of_no_epochs_is_no_early_end(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.probe(ev.FitStarted(epochs=0, planned_steps_per_epoch=100))
    run.probe(ev.FitDone(steps=0, epochs=0, epochs_done=0))
    run.ended(0)
    assert (run.verdict().outcome, run.blamed()) == ("finished", [])


def test_fits_in_two_threads_are_counted_as_one_and_blamed_for_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(type="array", cardinality=8, where="train.py:20"))
    run.probe(ev.FitStarted(fit=2, epochs=4, planned_steps_per_epoch=8))
    for epoch, steps in ((0, 8), (0, 8), (1, 8), (2, 8), (1, 8), (3, 0)):
        run.probe(ev.EpochDone(fit=2, epoch=epoch, steps=steps, logs={"loss": 0.5}))
    run.probe(ev.FitDone(fit=2, steps=32, epochs=7, epochs_done=6, steps_by_epoch=[8, 8, 8, 8, 8, 0]))
    run.probe(
        ev.EpochDone(fit=1, epoch=2, logs={"loss": 0.3}), ev.EpochDone(fit=1, epoch=3, logs={"loss": 0.1})
    )
    run.probe(ev.FitStarted(fit=1, epochs=4))
    run.probe(ev.FitDone(fit=1, steps=32, epochs=1, epochs_done=2, steps_by_epoch=[0, 0]))
    run.ended(0)
    verdict = run.verdict()
    assert (verdict.outcome, verdict.findings) == ("finished", ())


def test_a_stall_grows_older_while_it_is_looked_at(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.stalled("step", main_in_fit(), python_thread(4002, _LOCK, _QUEUE, user(15, "gen", "yield q.get()")))
    assert "did not move for 90 s" in summary_of(run.verdict())
    stalled = gather(run.path, now=NOW).stall
    assert stalled is not None
    run.samples(400, rss_bytes=MIB, phase="step")  # one a second, from second 101 on
    evidence = gather(run.path, now=NOW)
    assert evidence.silent_for_s == 90.0 + (500.0 - stalled.mono)
    assert f"did not move for {evidence.silent_for_s / 60:.0f} min (noticed after 90 s)" in summary_of(
        run.verdict()
    )


def test_what_a_group_found_slow_is_in_the_verdict_of_a_run_that_finished(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    for trip in (200, 400):
        words = f"a message to process 1 on b and back takes {trip} ms"
        run.supervisor(ev.GroupRemark(remark="slow-link", ranks=[1], text=words))
    run.ended(code=0)
    assert [sentence(one) for one in run.verdict().known if "message" in sentence(one)] == [
        "a message to process 1 on b and back takes 400 ms"
    ]


def test_a_run_whose_python_the_probe_cannot_enter_is_a_view_from_outside(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.ProbeLeftOut(python="2.7.18", implementation="cpython"))
    run.ended(1)
    verdict = run.verdict()
    assert sentence(verdict.known[0]) == (
        "the run was observed from outside only: the probe needs CPython 3.7 or later, and this is Python 2.7.18"
    )
    assert "missing.probe" not in [fact.kind for fact in verdict.findings[0].against]


def test_a_run_whose_launcher_alone_is_old_was_observed_from_inside(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.ProbeLeftOut(python="3.6.15", implementation="cpython"), ev.ProcessJoined(python="3.8.18"))
    run.ended(1)
    assert "probe.left-out" not in [fact.kind for fact in run.verdict().known]


def test_a_block_that_trained_nothing_is_not_said_to_lack_the_probe(tmp_path: Path) -> None:
    """The kernel died in a cell before anything in it trained."""
    run = Run(tmp_path, watch="beside")
    run.supervisor(ev.AttemptEnded(), ev.RunClosed(outcome="gone"))
    verdict = explain(run.path, now=NOW)
    assert verdict.findings[0].cause == "unknown"
    assert "missing.probe" not in [fact.kind for fact in verdict.findings[0].against]
    assert "missing.heartbeats" not in [fact.kind for fact in verdict.known]


# -- a process that was attached to ---------------------------------------------------------------------


def attached_to(tmp_path: Path, *events: ev.Event) -> Run:
    run = Run(tmp_path, watch="attached")
    run.supervisor(ev.WatchLimited(unknown=["its steps"]), *events)
    return run


def test_a_process_that_was_left_ran_when_it_was_left(tmp_path: Path) -> None:
    verdict = explain(attached_to(tmp_path, ev.RunClosed(outcome="left")).path, now=NOW + 1e6)
    assert (verdict.outcome, verdict.findings) == (Outcome.RUNNING, ())
    assert "process.left" in [fact.kind for fact in verdict.known]


def test_one_that_hung_when_it_was_left_hangs(tmp_path: Path) -> None:
    run = attached_to(
        tmp_path, ev.Stalled(phase="step", silent_for_s=900.0, limit_s=30.0), ev.RunClosed(outcome="left")
    )
    verdict = explain(run.path, now=NOW + 1e6)
    assert (verdict.outcome, verdict.findings[0].cause) == (Outcome.STALLED, "unknown")
    assert "missing.probe-attached" in [fact.kind for fact in verdict.findings[0].against]
    assert remedies(verdict.findings[0]) == ["run.watch-from-the-start", "unknown.send-the-folder"]


def test_one_whose_stacks_could_not_be_read_is_to_be_looked_at_again(tmp_path: Path) -> None:
    run = attached_to(tmp_path)
    run.stalled("", Thread(tid=4000, main=True, state="S", wait="futex_do_wait"))
    finding = run.first()
    assert (finding.cause, remedies(finding)[0]) == ("unknown", "attach.read-stacks")


def test_an_end_that_only_its_parent_was_told_is_not_called_a_failure(tmp_path: Path) -> None:
    run = attached_to(tmp_path, ev.AttemptEnded(oom_kills_before=0, oom_kills_after=0))
    verdict = explain(run.path, now=NOW)
    assert (verdict.outcome, verdict.findings[0].cause) == (Outcome.ENDED, "unknown")
    assert not verdict.went_well
    assert title_of(verdict.findings[0]) == "it ended, and only its parent knows how"
    assert "known to its parent only" in summary_of(verdict)


def test_without_the_supervisor_nobody_knows_how_the_command_ended(tmp_path: Path) -> None:
    """It may have done all of its work: only the relay was left, which sees that the output has ended."""
    run = Run(tmp_path / "run")
    run.supervisor(ev.SupervisorLost(output_bytes=16))
    verdict = explain(run.path, now=NOW + 1e6)
    assert verdict.outcome == Outcome.ENDED
    assert title_of(verdict.findings[0]) == "the record stops without an end, and why is not known"


def test_a_journal_without_one_record_says_nothing_of_the_end(tmp_path: Path) -> None:
    for name, content in (("noise", bytes(range(256)) * 40), ("empty", b"")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.jsonl").write_bytes(content)
        verdict = explain(tmp_path / name)
        assert verdict.outcome == Outcome.ENDED
        assert title_of(verdict.findings[0]) == "the record stops without an end, and why is not known"


def test_but_the_kernels_counter_says_how(tmp_path: Path) -> None:
    run = attached_to(tmp_path, ev.AttemptEnded(oom_kills_before=2, oom_kills_after=3))
    verdict = explain(run.path, now=NOW)
    assert (verdict.outcome, verdict.findings[0].cause) == (Outcome.KILLED, "killed-for-memory")


def test_an_end_that_the_kernel_told_us_is_an_end_like_any_other(tmp_path: Path) -> None:
    finished = attached_to(tmp_path / "a", ev.AttemptEnded(exit_code=0))
    assert explain(finished.path, now=NOW).outcome == Outcome.FINISHED
    killed = attached_to(
        tmp_path / "b", ev.AttemptEnded(signal="SIGKILL", oom_kills_before=0, oom_kills_after=0)
    )
    verdict = explain(killed.path, now=NOW)
    assert (verdict.outcome, verdict.findings[0].cause) == (Outcome.KILLED, "killed-from-outside")


def test_a_block_inside_a_process_has_no_exit_code(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", watch="beside")
    run.raised("KeyError", "'a'")
    assert summary_of(explain(run.path, now=NOW)).startswith("ended with an error, ")
