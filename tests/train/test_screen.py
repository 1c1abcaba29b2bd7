"""What a person sees, with the clock, the memory and the output given."""

from __future__ import annotations

import io

import pytest

from holdfast.journal import events as ev
from holdfast.train.screen import Screen, span, words


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def seen(step: int) -> ev.LossSeen:
    return ev.LossSeen(step=step, epoch=1, logs={"loss": 1.25, "box": 0.25, "class": 1.0}, learning_rate=5e-4)


def shown(out: io.StringIO, times: list[float], steps: list[int]) -> str:
    clock = iter(times)
    screen = Screen(
        100, 8, out=out, clock=lambda: next(clock), rss=lambda: (2**30, 3 * 2**29), wait_share=lambda: 0.04
    )
    for step in steps:
        screen.say(seen(step))
    screen.say(ev.ValidationDone(logs={"AP": 0.5, "AP50": 0.75}, duration_s=3.0))
    screen.say(ev.SaveDone(path="x"))
    return out.getvalue()


def test_plain_lines_when_not_a_terminal() -> None:
    text = shown(io.StringIO(), [0.0, 5.0, 20.0], [10, 20, 50])
    assert text == (
        "step 10/100  epoch 2  loss 1.250 (box 0.250 class 1.000)  rate 5.00e-04  waits for data 4%  "
        "memory 1.0 GiB (peak 1.5)\n"
        "step 50/100  epoch 2  loss 1.250 (box 0.250 class 1.000)  rate 5.00e-04  16.0 images/s  25 s left  "
        "waits for data 4%  memory 1.0 GiB (peak 1.5)\n"
        "validation: AP 0.500  AP50 0.750  (3 s)\n"
    )


def test_one_living_line_on_a_terminal() -> None:
    text = shown(Terminal(), [0.0, 0.1, 5.0], [10, 20, 50])
    assert text.count("\n") == 1
    assert text.count("\r") == 3
    assert "step 20/" not in text, "five times a second is enough"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ev.NoteMade(text="so it is"), "so it is"),
        (ev.Restored(path="checkpoints/step-7", iterations=7), "goes on from step 7 (checkpoints/step-7)"),
        (ev.SaveFailed(path="step-7", error="No space left on device; it is tried again", free_bytes=3 * 2**20),
         "not saved: step-7: No space left on device; it is tried again, 3 MiB free"),
        (ev.StopRequested(by="SIGTERM"), "stopping: SIGTERM"),
        (ev.NonFiniteSeen(name="the box loss", step=9, value="nan"),
         "step 9: the box loss is nan; the step was not applied"),
        (ev.SaveDone(path="x"), ""),
    ],
)  # fmt: skip
def test_words(event: ev.Event, line: str) -> None:
    assert words(event) == line


def test_spans() -> None:
    assert [span(seconds) for seconds in (0.4, 89, 300, 7200)] == ["0 s", "89 s", "5 min", "2.0 h"]
