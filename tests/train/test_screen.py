"""What a person sees, with the clock, the memory and the output given."""

from __future__ import annotations

import io
import re

import pytest

from holdfast.journal import events as ev
from holdfast.train.pace import Pace
from holdfast.train.screen import Screen, words
from holdfast.train.view import Memory, Seen, block, span


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


MEMORY = (Memory("memory", 2**30, 3 * 2**29, 8 * 2**30),)


def seen(step: int) -> ev.LossSeen:
    return ev.LossSeen(
        step=step, epoch=1, logs={"loss": 1.25, "box": 0.25, "class": 1.0}, learning_rate=5e-4, gradient_norm=1.0
    )  # fmt: skip


def shown(out: io.StringIO, times: list[float], steps: list[int]) -> str:
    clock = iter(times)
    screen = Screen(
        100, 8, out=out, clock=lambda: next(clock), memory=lambda: MEMORY, wait_share=lambda: 0.04
    )
    for step in steps:
        screen.say(seen(step))
    screen.say(ev.ValidationDone(logs={"AP": 0.5, "AP50": 0.75}, duration_s=3.0))
    screen.say(ev.SaveDone(path="x", step=50))
    return out.getvalue()


def test_plain_lines_when_not_a_terminal() -> None:
    text = shown(io.StringIO(), [0.0, 5.0, 20.0, 21.0], [10, 20, 50])
    assert text == (
        "step 10/100  epoch 2  loss 1.250 (box 0.250, class 1.000)  rate 5.00e-04  data wait 4%  "
        "memory 1.0 GiB, peak 1.5 of 8.0\n"
        "step 50/100  epoch 2  loss 1.250 (box 0.250, class 1.000)  rate 5.00e-04  16.0 images/s  data wait 4%  "
        "memory 1.0 GiB, peak 1.5 of 8.0  25 s left\n"
        "validation at step 50: AP 0.500  AP50 0.750  (3 s)\n"
    )


def test_after_some_minutes_a_file_gets_a_line_a_minute() -> None:
    out, now = io.StringIO(), [0.0]
    screen = Screen(10_000, 8, out=out, clock=lambda: now[0], memory=lambda: MEMORY)
    for second in range(0, 901, 2):
        now[0] = float(second)
        screen.say(seen(second + 1))
    assert out.getvalue().count("\n") == 30 + 10


def test_a_terminal_shows_one_block_that_is_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = shown(Terminal(), [0.0, 0.1, 5.0, 6.0], [10, 20, 50])
    assert "step 20/" not in text, "five times a second is enough"
    assert on_screen(text)[:-1] == [
        "validation at step 50: AP 0.500  AP50 0.750  (3 s)",
        "step 50/100  ━━━━━━━━━━━━──────────── 50%  epoch 2  64.0 images/s  6 s left",
        "loss 1.250  box 0.250  class 1.000  rate 5.0e-04",
        "memory 1.0 GiB, peak 1.5 of 8.0  data wait 4%  ",
    ]


def test_after_the_end_the_block_stays_and_lines_come_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    screen = Screen(10, 8, out=out, clock=lambda: 0.0, memory=lambda: ())
    screen.say(seen(10))
    screen.say(ev.FitDone())
    screen.say(ev.NoteMade(text="the model is in model.npz"))
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
    full = Seen(
        step=412, steps=2000, epoch=9, loss=6.8, parts={"classification": 3.5, "localization": 3.3}, rate=9e-4,
        images_per_s=14.3, left_s=111.0, wait_share=0.14, memory=MEMORY * 2, validation="AP 0.010", saved_at=400,
    )  # fmt: skip
    for width in (30, 80, 120):
        for line in block(full, width=width, colour=True):
            assert len(re.sub(r"\x1b\[\d+m", "", line)) < width
    assert block(full, width=120, colour=False)[2] == (
        "memory 1.0 GiB, peak 1.5 of 8.0  memory 1.0 GiB, peak 1.5 of 8.0  data wait 14%  saved at 400  AP 0.010"
    )


def test_the_pace_is_that_of_training_without_validation() -> None:
    pace = Pace()
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
        (ev.NoteMade(text="so it is"), "so it is"),
        (ev.Restored(path="checkpoints/step-7", iterations=7), "goes on from step 7 (checkpoints/step-7)"),
        (ev.SaveFailed(path="step-7", error="No space left on device; it is tried again", free_bytes=3 * 2**20),
         "not saved: step-7: No space left on device; it is tried again, 3 MiB free"),
        (ev.StopRequested(by="SIGTERM"), "stopping: SIGTERM"),
        (ev.StopRequested(by="early-stopping",
                          settings={"monitor": "AP", "waited": 3, "best": 0.51, "best_step": 200}),
         "early stopping: AP has not risen in 3 validations; the best was 0.510 at step 200"),
        (ev.NonFiniteSeen(name="the box loss", step=9, value="nan"),
         "step 9: the box loss is nan; the step was not applied"),
        (ev.SaveDone(path="x"), ""),
        (ev.FitStarted(planned_steps_per_epoch=12, iterations=4),
         "compiling the first step, which takes longer than those after it"),
        (ev.FitStarted(planned_steps_per_epoch=12, iterations=12),
         "all 12 steps were done before; more are trained with --resume --set train.steps=24"),
    ],
)  # fmt: skip
def test_words(event: ev.Event, line: str) -> None:
    assert words(event) == line


def test_spans() -> None:
    assert [span(seconds) for seconds in (0.4, 89, 300, 7200)] == ["0 s", "89 s", "5 min", "2.0 h"]


def test_the_best_so_far_is_that_of_the_whole_run_by_its_own_metric() -> None:
    out = io.StringIO()
    screen = Screen(100, 8, out=out, monitor="AP50", best=0.4)
    for value in (0.3, 0.5):
        screen.say(ev.ValidationDone(logs={"AP": 0.9 - value, "AP50": value}))
    first, second = [line for line in out.getvalue().splitlines() if "validation" in line]
    assert "the best so far" not in first
    assert "the best so far" in second
