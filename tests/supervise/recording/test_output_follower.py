"""The position of a command by what it prints."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal.events import ProgressPrinted, WarningSeen
from holdfast.supervise.recording.output_follower import OutputFollower


def write(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_the_newest_position(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    follower = OutputFollower(log)
    assert follower.poll(0.0) is None
    write(log, "lr: 0.1\nEpoch 1/3\n 10/32 [===>....] - ETA: 3s - loss: 0.5000")
    follower.poll(1.0)
    position = follower.poll(2.0)  # nothing more came: the bar without an end counts
    assert position is not None
    assert position.words() == "step 10 of 32, epoch 1 of 3"
    assert position.as_json() == {"step": 10, "of": 32, "epoch": 1, "of_epochs": 3, "loss": 0.5}


def test_it_is_recorded_at_first_every_minute_and_at_the_end(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    follower = OutputFollower(log)
    recorded: list[int | None] = []
    for second in range(130):
        write(log, f"step {second}/1000 loss 0.5\n")
        follower.poll(float(second))
        recorded += [event.step for event in follower.events if isinstance(event, ProgressPrinted)]
    follower.finish(130.0)
    recorded += [event.step for event in follower.events if isinstance(event, ProgressPrinted)]
    assert recorded == [0, 60, 120, 129]
    follower.finish(131.0)
    assert follower.events == [], "once is enough"


def test_a_loss_that_breaks_is_recorded_at_once(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    follower = OutputFollower(log)
    for second, loss in enumerate(("0.5", "0.4", "nan", "nan")):
        write(
            log,
            f"INFO:tensorflow:Step {second}00 per-step time 0.2s\nINFO:tensorflow:{{'Loss/total_loss': {loss}}}\n",
        )
        follower.poll(float(second))
        assert bool(follower.events) == (second in (0, 2))


def test_a_warning_is_recorded_once(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    follower = OutputFollower(log)
    write(log, "WARNING:tensorflow:Your input ran out of data; interrupting training.\n" * 3)
    follower.poll(0.0)
    assert [type(event) for event in follower.events] == [WarningSeen]


def test_earlier_attempts_validation_and_downloads_do_not_count(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    write(log, "step 900/1000 loss 0.1\n")
    follower = OutputFollower(log)
    write(log, "step 3/1000 loss 0.9\nValidation:  50%|███  | 5/10 [00:01<00:01, 5it/s]\n")
    write(log, "Downloading data:  10%|█ | 10.0M/100M [00:01<00:09, 10.0MB/s]\n")
    position = follower.poll(0.0)
    assert position is not None and position.words() == "step 3 of 1,000"


def test_a_flood_costs_little_and_its_end_counts(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    follower = OutputFollower(log)
    write(log, "".join(f"step {step}/1000000 loss 0.5\n" for step in range(100_000)))
    position = follower.poll(0.0)
    assert position is not None and position.progress.step == 99_999


def test_a_log_whose_middle_was_cut_out(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    follower = OutputFollower(log)
    write(log, "step 1/10 loss 0.5\n" * 100)
    follower.poll(0.0)
    log.write_text("step 1/10 loss 0.5\n")
    follower.poll(1.0)
    write(log, "step 7/10 loss 0.5\n")
    position = follower.poll(2.0)
    assert position is not None and position.progress.step == 7
