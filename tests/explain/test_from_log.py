"""A log alone: real wordings of many programs (tests/explain/logs), and what may not be concluded from words."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from holdfast.explain import Outcome, Strength, Verdict, explain_log
from holdfast.report import wording
from holdfast.report.verdict import render
from holdfast.report.wording import UNWORDED

LOGS = Path(__file__).parent / "logs"
EXPECTED = tomllib.loads((LOGS / "expected.toml").read_text())
LATER = 2e9  # long after each was written


def explained(path: Path) -> Verdict:
    return explain_log(path, LATER, ask_machine=False)


def written(folder: Path, *lines: str, name: str = "train.log") -> Verdict:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return explained(path)


def blamed(verdict: Verdict) -> list[str]:
    return [one.cause for one in verdict.findings if one.strength >= Strength.SUPPORTED]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_log_as_found_in_the_wild(name: str) -> None:
    expected, verdict = EXPECTED[name], explained(LOGS / name)
    causes = [one.cause for one in verdict.findings]
    if expected["causes"]:
        assert causes[:1] and causes[0] in expected["causes"]
        sure = verdict.findings[0].strength
        assert (sure == Strength.POSSIBLE) == (
            expected.get("at_most") == "possible" or causes[0] == "unknown"
        )
    else:
        assert not blamed(verdict)
    assert verdict.outcome in expected["outcomes"]
    assert all(one.strength < Strength.ESTABLISHED for one in verdict.findings)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_fact_of_it_has_its_line(name: str) -> None:
    verdict = explained(LOGS / name)
    lines = (LOGS / name).read_bytes().count(b"\n")
    sources = [fact.source for one in verdict.findings for fact in one.because if fact.source]
    for source in sources:
        file, _, number = source.partition(":")
        assert file == name
        assert not number or 1 <= int(number) <= lines
    assert UNWORDED not in render(verdict)


def test_every_log_has_its_expectation() -> None:
    assert {path.name for path in LOGS.iterdir()} == {*EXPECTED, "expected.toml"}


def test_the_line_of_the_error_is_named(tmp_path: Path) -> None:
    verdict = written(
        tmp_path,
        "epoch 1/2 - loss 0.5",
        "Traceback (most recent call last):",
        '  File "train.py", line 3, in <module>',
        "    np.zeros(10**12)",
        "MemoryError: Unable to allocate 7.28 TiB for an array with shape (1000000000000,) and data type float64",
    )
    assert verdict.findings[0].cause == "memory-refused"
    assert verdict.findings[0].because[0].source == "train.log:5"


def _traceback(error: str) -> list[str]:
    return ["Traceback (most recent call last):", '  File "train.py", line 9, in step', "    save()", error]


DISK_FULL = _traceback("OSError: [Errno 28] No space left on device: 'out/model.h5'")


def test_an_error_at_the_end_ended_it(tmp_path: Path) -> None:
    verdict = written(tmp_path, "epoch 1/9 - loss 0.5", *DISK_FULL)
    assert (verdict.outcome, blamed(verdict)) == (Outcome.FAILED, ["disk-full"])


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0)", "device-memory-exhausted"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.", "device-memory-exhausted"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data/labels.csv'", "path-missing"),
        ("KeyError: 'lr'", "script-error"),
    ],
)  # fmt: skip
def test_the_last_line_of_an_error_without_its_traceback_ended_it(
    tmp_path: Path, line: str, cause: str
) -> None:
    """A handler printed it, or somebody kept the end of the log."""
    verdict = written(tmp_path, "Epoch 1/10 loss 0.5", "Epoch 2/10 loss 0.4", line)
    assert verdict.outcome == Outcome.FAILED
    assert [(verdict.findings[0].cause, verdict.findings[0].strength)] == [(cause, Strength.SUPPORTED)]


@pytest.mark.parametrize(
    "after", ["Epoch 3/10 loss 0.3", "training finished", "warnings.warn(message)", "model saved to out.pt"]
)
def test_an_error_that_is_followed_by_more_is_a_word(tmp_path: Path, after: str) -> None:
    verdict = written(tmp_path, "Epoch 2/10 loss 0.4", "ValueError: bad file a.jpg", after)
    assert not blamed(verdict)


@pytest.mark.parametrize(
    "line", ["mean squared Error: 0.12", "Error: 0.12", "val Error: 3", "TestError: 0.31", "note: ValueError"]
)
def test_a_measure_that_is_called_error_is_none(tmp_path: Path, line: str) -> None:
    assert not blamed(written(tmp_path, "Epoch 1/2 loss 0.5", "Epoch 2/2 loss 0.4", line))


def test_a_bar_drawn_once_more_after_the_error_is_no_training(tmp_path: Path) -> None:
    bar = " 12%|█▏        | 12/100 [00:05<00:40,  2.11it/s]"
    assert blamed(written(tmp_path, bar, *DISK_FULL, bar)) == ["disk-full"]


def test_an_error_after_which_training_continued_was_caught(tmp_path: Path) -> None:
    verdict = written(
        tmp_path, "epoch 1/3 - loss 0.5", *DISK_FULL, "epoch 2/3 - loss 0.4", "epoch 3/3 - loss 0.3"
    )
    assert (verdict.outcome, blamed(verdict)) == (Outcome.FINISHED, [])


def test_an_error_after_which_it_said_that_it_was_done_was_caught(tmp_path: Path) -> None:
    verdict = written(tmp_path, "epoch 2/2 - loss 0.5", *DISK_FULL, "Training complete.")
    assert blamed(verdict) == []


def test_an_error_that_a_library_logged_was_caught(tmp_path: Path) -> None:
    logged = [
        "Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda13.initialize()",
        "Traceback (most recent call last):",
        '  File "/env/lib/python3.11/site-packages/jax/_src/xla_bridge.py", line 508, in discover_pjrt_plugins',
        "    plugin_module.initialize()",
        "RuntimeError: Unable to load cuDNN. Is it installed?",
    ]
    verdict = written(tmp_path, *logged, "loss 0.0237")
    assert (verdict.outcome, blamed(verdict)) == (Outcome.FINISHED, [])
    assert blamed(written(tmp_path, *logged)) == ["script-error"]  # nothing came after it


def test_killed_as_the_last_word(tmp_path: Path) -> None:
    verdict = written(tmp_path, "step 10 loss 0.5", "step 20 loss 0.4", "Killed")
    assert verdict.outcome is Outcome.KILLED
    assert blamed(verdict) == []  # by whom is not said
    assert verdict.findings[0].cause == "killed-for-memory"


def test_killed_in_the_middle_is_a_word(tmp_path: Path) -> None:
    verdict = written(tmp_path, "step 10 loss 0.5", "Killed", "step 20 loss 0.4", "step 30 loss 0.4")
    assert verdict.outcome is Outcome.FINISHED
    assert verdict.findings == ()


def test_a_requeued_job_that_continues_in_the_same_log(tmp_path: Path) -> None:
    cancelled = "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2024-05-30T04:02:11 DUE TO PREEMPTION ***"
    steps = [f"step {number}/100 loss 0.5" for number in range(1, 101)]
    assert written(tmp_path, *steps[:40], cancelled, *steps[40:]).findings == ()


def test_the_error_of_a_rank_is_the_launchers_error(tmp_path: Path) -> None:
    launcher = [
        "Traceback (most recent call last):",
        '  File "/env/bin/torchrun", line 8, in <module>',
        "    sys.exit(main())",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        "train.py FAILED",
    ]
    verdict = written(tmp_path, *(f"[rank1]: {line}" for line in DISK_FULL), *launcher)
    assert blamed(verdict) == ["disk-full"]


def test_a_loss_that_broke_for_one_step_is_no_broken_loss(tmp_path: Path) -> None:
    verdict = written(tmp_path, "step 1 loss 0.5", "step 2 loss nan", "step 3 loss 0.4", "step 4 loss 0.3")
    assert verdict.findings == ()


def test_a_validation_loss_is_not_the_loss(tmp_path: Path) -> None:
    verdict = written(
        tmp_path, "epoch 1/2 - loss: 0.5 - val_loss: nan", "epoch 2/2 - loss: 0.4 - val_loss: nan"
    )
    assert verdict.findings == ()


def test_it_may_still_run(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("Epoch 1/50\n 98/313 [====>....] - ETA: 2s - loss: 0.4711\n")
    assert explain_log(path, ask_machine=False).outcome is Outcome.RUNNING  # written just now
    assert explained(path).outcome is Outcome.KILLED


def test_a_process_that_still_writes_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("step 10 loss 0.5\nstep 20 loss 0.4\n")
    with path.open("a") as log, subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=log) as process:
        verdict = explain_log(path, LATER)
        process.communicate()
    assert verdict.outcome is Outcome.RUNNING
    assert {fact.kind: fact.values for fact in verdict.known}["log.written-by"]["pid"] == process.pid


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2024-05-30T04:02:11 DUE TO TIME LIMIT ***",
         "the job reached its time limit, and the scheduler ended it"),
        ("slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2024-05-30T04:02:11 DUE TO PREEMPTION ***",
         "the machine was taken back: the job was preempted"),
        ("slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2024-05-30T04:02:11 ***", "the job was cancelled"),
    ],
)  # fmt: skip
def test_the_title_says_why_the_scheduler_ended_it(tmp_path: Path, line: str, title: str) -> None:
    verdict = written(tmp_path, "step 10/900 loss 0.71", "step 20/900 loss 0.64", line)
    assert blamed(verdict) == ["preempted"]
    assert wording.title(verdict.findings[0].title) == title


@pytest.mark.parametrize("unit", ["A--", "\t", "11%| ", "1/", "W1111 ", "train ", "1it "])
def test_long_lines_of_one_pattern_are_read_at_once(tmp_path: Path, unit: str) -> None:
    """A third of a second for each line would be a night for a log."""
    line = f"step 7 loss 0.5 {unit * (780 // len(unit))}\n"
    (tmp_path / "a.log").write_text(line * 100)
    assert explain_log(tmp_path / "a.log", ask_machine=False).outcome is not None
