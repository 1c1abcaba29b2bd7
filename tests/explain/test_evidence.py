"""Evidence with pieces missing, torn, old or from elsewhere; what is read of a log, of samples and of stacks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast.errors import JournalTooNew, NotARun, PathMissing
from holdfast.explain import Strength, explain
from holdfast.explain.gather import gather
from holdfast.explain.readings.output import is_advice, read
from holdfast.journal import events as ev
from holdfast.journal import vitals
from holdfast.journal.beats import BeatWriter, Phase
from holdfast.journal.writer import JournalWriter
from holdfast.report.verdict_json import as_json
from tests.explain.causes import (
    test_killed_for_memory,
    test_killed_from_outside,
    test_shuffle_buffer_too_large,
    test_worker_died,
)
from tests.explain.made import MIB, NOW, Run, growing, main_in_fit, native, sentence, title_of


def test_no_folder_and_no_run_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(PathMissing):
        explain(tmp_path / "nowhere")
    with pytest.raises(NotARun):
        explain(tmp_path)


def test_an_output_log_alone_is_enough(tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/home/me/train.py", line 3, in <module>\n    x = 1 / '
        "0\nZeroDivisionError: division by zero\n"
    )
    (tmp_path / "output.log").write_text(log)
    verdict = explain(tmp_path, now=NOW)
    assert (verdict.outcome, verdict.findings[0].cause) == ("failed", "script-error")
    assert title_of(verdict.findings[0]) == "ZeroDivisionError at /home/me/train.py:3: division by zero"
    assert verdict.findings[0].because[0].source == "output.log:4"


def test_a_torn_journal_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    test_killed_for_memory.example(run)
    with (run.path / "journal.jsonl").open("ab") as file:
        file.write(b'{"kind": "run_closed", "at": 18000')
    verdict = run.verdict()
    assert verdict.findings[0].cause == "killed-for-memory"
    assert any(fact.kind == "journal.cut-off" for fact in verdict.known)


def test_a_journal_of_a_later_format_is_refused(tmp_path: Path) -> None:
    JournalWriter(tmp_path / "journal.jsonl", by="supervisor").append(ev.RunOpened(version=99))
    with pytest.raises(JournalTooNew):
        explain(tmp_path)


def _opened_here(path: Path, pid: int) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    writer = JournalWriter(path / "journal.jsonl", by="supervisor")
    writer.append(ev.RunOpened(command=["python", "train.py"], host=os.uname().nodename, boot_id=boot))
    writer.append(ev.AttemptStarted(pid=pid))


def test_a_living_process_is_running_and_a_dead_one_killed(tmp_path: Path) -> None:
    _opened_here(tmp_path, os.getpid())
    assert explain(tmp_path).outcome == "running"
    gone = tmp_path / "gone"
    gone.mkdir()
    _opened_here(gone, 2**22 + 1)
    verdict = explain(gone)
    assert verdict.outcome == "killed"
    assert any(fact.kind == "process.gone" for fact in verdict.known)


def test_a_run_close_to_its_limit_is_not_blamed_while_it_lives(tmp_path: Path) -> None:
    _opened_here(tmp_path, os.getpid())
    journal = JournalWriter(tmp_path / "journal.jsonl", by="supervisor")
    journal.append(ev.MachineRead(memory_limit_bytes=1000 * MIB))
    journal.append(
        ev.DatasetSeen(type="tf.data", nodes=[{"op": "shuffle", "buffer_size": 900, "element_bytes": MIB}])
    )
    with (tmp_path / "vitals.jsonl").open("wb") as file:
        for second in range(12):
            sample = vitals.Sample(
                mono=float(second), rss_bytes=(300 + 60 * second) * MIB, phase="fill", fit=1
            )
            file.write(vitals.encode(sample))
    verdict = explain(tmp_path)
    assert (verdict.outcome, verdict.findings[0].cause) == ("running", "shuffle-buffer-too-large")
    assert verdict.findings[0].strength == Strength.POSSIBLE and verdict.went_well


def test_silent_but_moving_is_told_of_a_living_process(tmp_path: Path) -> None:
    _opened_here(tmp_path, os.getpid())
    with (tmp_path / "vitals.jsonl").open("wb") as file:
        for second in range(40):
            file.write(
                vitals.encode(
                    vitals.Sample(
                        mono=float(second), rss_bytes=MIB, phase="step", step=5 * second, output_bytes=7
                    )
                )
            )
    verdict = explain(tmp_path)
    assert verdict.findings[0].cause == "silent-but-moving"
    assert verdict.findings[0].normal and verdict.went_well


def test_another_machine_cannot_know(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    verdict = run.verdict()
    assert verdict.outcome == "killed"
    assert verdict.findings[0].cause == "unknown"
    assert any(fact.kind == "process.unknown" for fact in verdict.known)


def test_only_the_last_attempt_is_judged_and_the_others_are_told(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.mkdir()
    for attempt, signal in ((1, "SIGKILL"), (2, None)):
        writer = JournalWriter(path / "journal.jsonl", by="supervisor", attempt=attempt)
        if attempt == 1:
            writer.append(ev.RunOpened(command=["python", "train.py"]))
        writer.append(ev.AttemptStarted(pid=4000 + attempt))
        writer.append(
            ev.AttemptEnded(
                signal=signal,
                exit_code=None if signal else 0,
                duration_s=30.0,
                oom_kills_before=0,
                oom_kills_after=1 if signal else 0,
            )
        )
    verdict = explain(path)
    assert verdict.outcome == "finished" and not verdict.findings
    assert sentence(verdict.known[0]) == "attempt 1 ended after 30 s: SIGKILL"


def test_a_shell_s_exit_code_names_the_signal(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ended(137, oom=1)
    verdict = run.verdict()
    assert (verdict.outcome, verdict.findings[0].cause) == ("killed", "killed-for-memory")
    assert verdict.summary[0].values == {"signal": "SIGKILL", "by_shell": True}


def test_a_command_without_a_probe_is_judged_by_its_end(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.output("make: *** [all] Error 3\n")
    run.ended(3)
    first = run.verdict().findings[0]
    assert (first.cause, first.strength) == ("script-error", Strength.SUPPORTED)
    assert "make: *** [all] Error 3" in sentence(first.because[1])


def test_a_healthy_run_finds_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.samples(20, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: 15 * n)
    run.epochs([100, 100, 100])
    run.ended(0)
    verdict = run.verdict()
    assert (verdict.outcome, verdict.step, verdict.of, verdict.findings) == ("finished", 300, 300, ())
    assert verdict.went_well


def test_the_json_is_the_contract_s(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    test_shuffle_buffer_too_large.example(run)
    found = json.loads(json.dumps(as_json(run.verdict())))
    assert {"run", "outcome", "step", "of", "findings", "ruled_out"} <= found.keys()
    first = found["findings"][0]
    assert {"cause", "strength", "title", "because", "against", "remedies", "led_to", "more"} <= first.keys()
    assert {"fact", "source", "kind", "values"} == first["because"][0].keys()
    assert (found["outcome"], found["step"], found["of"]) == ("killed", 0, 300)
    assert first["led_to"] == "killed-for-memory"
    assert first["more"] == "holdfast causes shuffle-buffer-too-large"
    assert {remedy["safety"] for remedy in first["remedies"]} <= {"automatic", "your-choice", "guess"}


def test_the_digest_of_the_weights_is_handed_on(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.WeightsHashed(sha256="ab12"))
    run.ended(0)
    assert as_json(run.verdict())["weights_sha256"] == "ab12"


def test_a_cause_that_breaks_does_not_cost_the_answer(tmp_path: Path) -> None:
    """A journal of another version may hold anything."""
    run = Run(tmp_path / "run")
    run.probe(ev.FitStarted(callbacks=[{"class": 3, "settings": ["none"]}], epochs=3))
    run.probe(ev.DatasetSeen(role="train", statistics={"x": {"max": "much", "min": [], "nan": "?"}}))
    run.probe(ev.StopRequested(by="EarlyStopping", settings={"best": "b", "patience": []}, epoch=1))
    run.ended(signal="SIGKILL", oom=1)
    verdict = run.verdict()
    assert verdict.findings[0].cause == "killed-for-memory"
    assert any(fact.kind == "cause.not-judged" for fact in verdict.known)


def test_values_of_another_type_are_left_out_and_counted(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(nodes=["not a node"], statistics=3, type=["x"]))  # type: ignore[arg-type,list-item]
    run.ended(signal="SIGKILL", oom=1)
    verdict = run.verdict()
    assert verdict.findings[0].cause == "killed-for-memory"
    assert [fact.values["values"] for fact in verdict.known if fact.kind == "journal.wrong-types"] == [3]


# -- the log ----------------------------------------------------------------------------------------


def test_line_numbers_of_a_long_log_are_right(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_text("".join(f"line {number} {'x' * 90}\n" for number in range(1, 9001)) + "the end\n")
    assert read(log).last("the end").number == 9001  # type: ignore[union-attr]


def test_progress_bars_are_cut_into_their_pieces(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_bytes(b"Epoch 1\n 1/9 loss: 2.0\r 2/9 loss: 1.0\x08\x08\x08\x08 3/9 loss: nan\n")
    assert read(log).last(r"loss: nan").text.strip() == "3/9 loss: nan"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("This may be caused by an out of memory error", True),
        ("Hint: If you want to see a list of allocated tensors when OOM happens, add report", True),
        ("Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR", False),
        ("can't open file 'x.py': [Errno 2]", False),
        ("Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB", False),
    ],
)
def test_advice_is_known_from_facts(text: str, advice: bool) -> None:
    assert is_advice(text) is advice


def test_a_fact_before_advice_in_one_line_counts() -> None:
    text = "cache lockfile already exists ('a.lockfile'). If you are sure nothing runs, delete it"
    assert not is_advice(text, text.index("lockfile"))
    assert is_advice(text, text.index("delete"))


def test_a_chained_traceback_keeps_the_first_cause(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_text(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nOSError: [Errno 28] No space '
        "left on device\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "/home/me/a.py", line 2, in <module>\n    '
        "f()\nRuntimeError: not saved\n"
    )
    found = read(log).traceback
    assert found is not None
    assert (found.text.type, found.text.message, found.line.number) == ("RuntimeError", "not saved", 11)
    assert found.text.chain == ("OSError: [Errno 28] No space left on device",)


# -- long records ----------------------------------------------------------------------------------


def test_long_vitals_are_thinned_and_keep_their_lines(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.samples(20_000, rss_bytes=growing(0.01), phase="step", fit=1, step=lambda n: n)
    samples = gather(run.path, now=NOW).samples
    assert len(samples) < 3000
    assert samples[0][0] == 1 and samples[-1][0] == 20_000
    assert all(line == sample.step + 1 for line, sample in samples)


def test_a_long_journal_is_thinned_and_keeps_its_ends(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for step in range(5000):
        run.probe(ev.LossSeen(step=step, logs={"loss": 1.0}))
    evidence = gather(run.path, now=NOW)
    losses = evidence.all(ev.LossSeen)
    assert len(losses) <= 600
    assert (losses[0].event.step, losses[-1].event.step) == (0, 4999)
    assert losses[-1].line == 5003


def test_beats_give_the_step_when_samples_are_missing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    writer = BeatWriter(run.path / "beats")
    writer.write(Phase.STEP, fit=1, step=412, loss=0.5)
    writer.close()
    run.ended(signal="SIGKILL", oom=0)
    assert run.verdict().step == 412


def test_a_loss_that_a_heartbeat_repeats_is_not_the_loss_of_its_step(tmp_path: Path) -> None:
    """In a loop whose losses are read now and then, a heartbeat has the newest one that was read."""
    run = Run(tmp_path / "run")
    writer = BeatWriter(run.path / "beats")
    for step, loss in [(1, 0.9), (2, 0.5), (3, 0.5), (4, 0.5), (5, 0.5), (6, 0.4)]:
        writer.write(Phase.STEP, step=step, loss=loss)
    writer.close()
    run.probe(ev.LossSeen(step=4, logs={"loss": 0.7}), ev.LossSeen(step=5, logs={"loss": 0.7}))
    run.ended(0)
    losses = [(step, loss) for step, loss, _ in gather(run.path, now=NOW).losses]
    assert losses == [(1, 0.9), (2, 0.5), (4, 0.7), (5, 0.7), (6, 0.4)]


# -- look-alikes ------------------------------------------------------------------------------------


def test_a_worker_killed_for_memory_is_the_root_of_the_hang(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    test_worker_died.with_worker(run, oom=True)
    run.supervisor(ev.OomKillSeen(oom_kills=1, was=0, victim_pid=4100))
    run.stalled("data-wait", main_in_fit())
    run.ended(signal="SIGKILL", stopped_by_us="stall", oom=1)
    verdict = run.verdict()
    assert verdict.outcome == "stalled"
    causes = [one.cause for one in verdict.findings]
    assert "killed-for-memory" in causes[:2] and "worker-died" in causes[:2]


def test_a_kill_without_a_counter_is_no_out_of_memory(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    test_killed_from_outside.example(run)
    verdict = run.verdict()
    assert [one.cause for one in verdict.findings] == ["killed-from-outside"]
    assert "killed-for-memory" in {one.cause for one in verdict.ruled_out}


def test_a_stall_ended_by_a_person_is_still_a_stall(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.stalled("data-wait", main_in_fit(), native(wait="wait_for_partner"))
    run.supervisor(ev.SignalReceived(signal="SIGINT"))
    run.ended(signal="SIGINT", stopped_by_us="interrupt")
    verdict = run.verdict()
    assert (verdict.outcome, verdict.findings[0].cause) == ("stalled", "input-blocked")
