"""What a person sees, with the clock, the memory and the output given."""

from __future__ import annotations

import io
import re

import pytest

from holdfast.journal import events as ev
from holdfast.train.event_text import event_line
from holdfast.train.observers.progress_display import ProgressDisplay
from holdfast.train.observers.progress_text import MemoryUsage, ProgressState, live_block
from holdfast.train.observers.throughput import ThroughputMeter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


MEMORY = (MemoryUsage("memory", 2**30, 3 * 2**29, 8 * 2**30),)


def seen(step: int) -> ev.LossSeen:
    return ev.LossSeen(
        step=step, epoch=1, logs={"loss": 1.25, "box": 0.25, "class": 1.0}, learning_rate=5e-4, gradient_norm=1.0
    )  # fmt: skip


def shown(out: io.StringIO, times: list[float], steps: list[int]) -> str:
    clock = iter(times)
    screen = ProgressDisplay(
        100, 8, out=out, clock=lambda: next(clock), memory=lambda: MEMORY, wait_share=lambda: 0.04
    )
    for step in steps:
        screen.notify(seen(step))
    screen.notify(ev.ValidationDone(logs={"AP": 0.5, "AP50": 0.75}, duration_s=3.0))
    screen.notify(ev.SaveDone(path="x", step=50))
    return out.getvalue()


def test_plain_lines_when_not_a_terminal() -> None:
    text = shown(io.StringIO(), [0.0, 5.0, 20.0, 21.0], [10, 20, 50])
    assert text == (
        "step 10/100  epoch 2  loss 1.250 (box 0.250, class 1.000)  learning rate 5.00e-04  data wait 4%  "
        "memory 1.0 GiB, peak 1.5 of 8.0\n"
        "step 50/100  epoch 2  loss 1.250 (box 0.250, class 1.000)  learning rate 5.00e-04  16.0 images/s  "
        "data wait 4%  memory 1.0 GiB, peak 1.5 of 8.0  25 s left\n"
        "validation at step 50: AP 0.500  AP50 0.750  (3.0 s)\n"
    )


def test_after_some_minutes_a_file_gets_a_line_a_minute() -> None:
    out, now = io.StringIO(), [0.0]
    screen = ProgressDisplay(10_000, 8, out=out, clock=lambda: now[0], memory=lambda: MEMORY)
    for second in range(0, 901, 2):
        now[0] = float(second)
        screen.notify(seen(second + 1))
    assert out.getvalue().count("\n") == 30 + 10


def test_a_terminal_shows_one_block_that_is_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = shown(Terminal(), [0.0, 0.1, 5.0, 6.0], [10, 20, 50])
    assert "step 20/" not in text, "five times a second is enough"
    assert on_screen(text)[:-1] == [
        "validation at step 50: AP 0.500  AP50 0.750  (3.0 s)",
        "step 50/100  ━━━━━━━━━━━━──────────── 50%  epoch 2  64.0 images/s  6.2 s left",
        "loss 1.250  box 0.250  class 1.000  lr 5.0e-04",
        "memory 1.0 GiB, peak 1.5 of 8.0  data wait 4%  ",
    ]


def test_after_the_end_the_block_stays_and_lines_come_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    screen = ProgressDisplay(10, 8, out=out, clock=lambda: 0.0, memory=lambda: ())
    screen.notify(seen(10))
    screen.notify(ev.FitDone())
    screen.notify(ev.ModelWritten(path="model.npz"))
    lines = on_screen(out.getvalue())
    assert lines[0].startswith("step 10/10")
    assert lines[3:] == ["the model is in model.npz", ""]


def on_screen(text: str) -> list[str]:
    """What a terminal shows in the end: it knows new lines, cursor up, and erasing from the cursor on."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[\d*[AJ]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part.endswith("A") and part.startswith("\x1b"):
            row -= int(part[2:-1])
        elif part.endswith("J") and part.startswith("\x1b"):
            lines = [*lines[:row], ""]
        elif part != "\r":
            lines[row] += part
    return lines


def test_a_block_is_never_wider_than_the_terminal() -> None:
    full = ProgressState(
        step=412, steps=2000, epoch=9, loss=6.8, parts={"classification": 3.5, "localization": 3.3}, learning_rate=9e-4,
        images_per_s=14.3, remaining_s=111.0, wait_share=0.14, memory=MEMORY * 2, validation="AP 0.010", saved_at=400,
    )  # fmt: skip
    for width in (30, 80, 120):
        for line in live_block(full, width=width, colour=True):
            assert len(re.sub(r"\x1b\[\d+m", "", line)) < width
    assert live_block(full, width=120, colour=False)[2] == (
        "memory 1.0 GiB, peak 1.5 of 8.0  memory 1.0 GiB, peak 1.5 of 8.0  data wait 14%  saved at 400  AP 0.010"
    )


def test_the_pace_is_that_of_training_without_validation() -> None:
    pace = ThroughputMeter()
    pace.step_done(10, 0.0)
    assert pace.steps_per_s() is None
    pace.step_done(20, 5.0)
    pace.idle_from(5.0)
    pace.idle_until(65.0)
    pace.step_done(30, 70.0)
    assert pace.steps_per_s() == 2.0
    pace.step_done(15, 80.0)  # rolled back
    assert pace.steps_per_s() is None


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ev.Note(text="so it is"), "so it is"),
        (ev.MicroBatchSet(micro_batch=4, batch=8), "micro-batches of 4"),
        (ev.MicroBatchSet(micro_batch=4, was=8, batch=8, reason="out-of-memory", step=3),
         "out of memory at step 3: the step was undone and runs again with micro-batches of 4 instead of 8; the batch "
         "stays 8, so results differ by float rounding only, and a step takes somewhat longer"),
        (ev.MicroBatchSet(micro_batch=4, was=8, batch=8, reason="killed-for-memory"),
         "the attempt before this one ran out of memory; micro-batches of 4 instead of 8, the batch "
         "stays 8, and no images are cached"),
        (ev.ValidationBatchReduced(batch=1, was=3),
         "out of memory in validation: 1 images at once instead of 3 from here on; the result is the same, and "
         "validation takes somewhat longer"),
        (ev.RecipeChanged(changes={"train.steps": [12, 24]}),
         "the recipe has changed: train.steps 12 → 24 (the result will not be that of a single run)"),
        (ev.CheckpointRejected(path="runs/a/checkpoints/step-7", why="x", instead="the one before is taken"),
         "checkpoint step-7 is corrupt: x; the one before is taken"),
        (ev.CheckpointRejected(path="gs://a/step-7", why="x", instead="the best weights so far are lost"),
         "the copy gs://a/step-7 is corrupt: x; the best weights so far are lost"),
        (ev.CheckpointCopied(url="gs://a/step-7", duration_s=1.25), "step-7 is copied to gs://a/step-7 (1.2 s)"),
        (ev.CopyFailed(what="step-7", url="gs://a/step-7", error="403", retries=True),
         "step-7 could not be copied to gs://a/step-7: 403; trying again"),
        (ev.CopyFailed(what="model.npz", error="403"),
         "the model could not be copied to the bucket: 403; it is on this machine, in model.npz"),
        (ev.CheckpointFetched(url="gs://a/step-7"), "step-7 is fetched from gs://a"),
        (ev.FetchFailed(url="gs://a", error="403"),
         "gs://a could not be read: 403; resumes from what is on this machine"),
        (ev.CheckpointAgreed(step=7, newest_by_rank=[7, 9]),
         "resumes from step 7, the newest that all processes have"),
        (ev.CheckpointAgreed(step=9, sent=True, newest_by_rank=[9, -1]),
         "rank 0 sends its checkpoint of step 9 to the others"),
        (ev.CheckpointAgreed(newest_by_rank=[-1, 9]), "rank 0 has no checkpoint: all start at the first step"),
        (ev.RolledBack(step=7, learning_rate_scale=0.5, rollbacks=1),
         "rolled back to step 7, with half the learning rate (rollback 1)"),
        (ev.WeightsHashed(sha256="ab12", step=7), "weights ab12"),
        (ev.BadImageSkipped(image="a.jpg", why="cut", step=3, skipped=1, allowed=5),
         "an image cannot be decoded and is replaced by another: a.jpg: cut (1 of at most 5, data.skip_bad)"),
        (ev.BoxLeftOut(file="a.jpg", why="no area"), "a box is left out: a.jpg: no area"),
        (ev.ImagesPacked(images=9, from_epoch=0),
         "small copies of 9 large images are ready; they are read from epoch 1 on"),
        (ev.Restored(path="checkpoints/step-7", iterations=7), "resumes from step 7 (checkpoints/step-7)"),
        (ev.SaveFailed(path="step-7", error="No space left on device; trying again", free_bytes=3 * 2**20),
         "not saved: step-7: No space left on device; trying again, 3.0 MiB free"),
        (ev.StopRequested(by="SIGTERM"), "stopping: SIGTERM"),
        (ev.StopRequested(by="early-stopping",
                          settings={"monitor": "AP", "waited": 3, "best": 0.51, "best_step": 200}),
         "early stopping: AP has not improved in 3 validations; the best was 0.510 at step 200"),
        (ev.NonFiniteSeen(name="the box loss", step=9, value="nan"),
         "step 9: the box loss is nan; the step was not applied"),
        (ev.SaveDone(path="x"), ""),
        (ev.FitStarted(planned_steps_per_epoch=12, iterations=4),
         "compiling the first step; later steps are faster"),
        (ev.FitStarted(planned_steps_per_epoch=12, iterations=12),
         "all 12 steps are done already; --resume --set train.steps=24 trains more"),
    ],
)  # fmt: skip
def test_event_lines(event: ev.Event, line: str) -> None:
    assert event_line(event) == line


def test_the_best_so_far_is_that_of_the_entire_run_by_its_own_metric() -> None:
    out = io.StringIO()
    screen = ProgressDisplay(100, 8, out=out, monitor="AP50", best=0.4)
    for value in (0.3, 0.5):
        screen.notify(ev.ValidationDone(logs={"AP": 0.9 - value, "AP50": value}))
    first, second = [line for line in out.getvalue().splitlines() if "validation" in line]
    assert "the best so far" not in first
    assert "the best so far" in second
