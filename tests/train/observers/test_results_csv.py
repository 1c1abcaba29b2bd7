"""results.csv: rows, and what a resumed run does with those that it will make again."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal.events import FitDone, LossSeen, ValidationDone
from holdfast.train.observers.results_csv import ResultsCsv


def seen(step: int) -> LossSeen:
    return LossSeen(step=step, epoch=0, logs={"loss": 1.5, "box": 0.5}, learning_rate=0.1)


def rows(path: Path) -> list[list[str]]:
    return [line.split(",")[:6] for line in path.read_text().splitlines()]


def test_one_row_a_validation_and_one_for_the_end(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    table = ResultsCsv(path, resumed_at=0, parts=("box",))
    table.notify(seen(10))
    table.notify(ValidationDone(logs={"AP": 0.25, "AP50": 0.5}))
    table.notify(seen(12))
    table.notify(FitDone())
    assert rows(path) == [
        ["step", "epoch", "learning_rate", "loss", "box", "AP"],
        ["10", "0", "0.1", "1.5", "0.5", "0.25"],
        ["12", "0", "0.1", "1.5", "0.5", ""],
    ]


def test_a_resumed_run_drops_the_rows_that_come_again(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    first = ResultsCsv(path, resumed_at=0, parts=("box",))
    for step in (10, 20):
        first.notify(seen(step))
        first.notify(ValidationDone(logs={"AP": 0.1}))
    whole = path.read_text()
    second = ResultsCsv(path, resumed_at=15, parts=("box",))
    assert [row[0] for row in rows(path)] == ["step", "10"]
    second.notify(seen(20))
    second.notify(ValidationDone(logs={"AP": 0.1}))
    assert path.read_text() == whole


def test_a_fresh_run_starts_a_fresh_table(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("step\n99\n")
    ResultsCsv(path, resumed_at=0, parts=())
    assert [row[0] for row in rows(path)] == ["step"]


def test_a_row_without_a_validation_gives_way_to_the_one_with_it(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    first = ResultsCsv(path, resumed_at=0, parts=("box",))
    first.notify(seen(10))
    first.notify(FitDone())  # asked to stop while it validated
    second = ResultsCsv(path, resumed_at=10, parts=("box",))
    second.notify(seen(10))
    second.notify(ValidationDone(logs={"AP": 0.25}))
    assert [row[0::5] for row in rows(path)] == [["step", "AP"], ["10", "0.25"]]


def test_after_going_back_the_rows_of_later_steps_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    table = ResultsCsv(path, resumed_at=0, parts=("box",))
    for step in (10, 20, 30, 20):
        table.notify(seen(step))
        table.notify(ValidationDone(logs={"AP": 0.1}))
    assert [row[0] for row in rows(path)] == ["step", "10", "20"]


def test_a_disk_that_takes_nothing_does_not_stop_it_from_beginning(tmp_path: Path) -> None:
    table = ResultsCsv(tmp_path / "later" / "results.csv", resumed_at=0, parts=("box",))
    (tmp_path / "later").mkdir()
    table.notify(seen(10))
    table.notify(ValidationDone(logs={"AP": 0.25}))
    assert [row[0] for row in rows(tmp_path / "later" / "results.csv")] == ["step", "10"]


def test_the_row_that_an_interruption_left_is_no_part_of_a_resumed_run(tmp_path: Path) -> None:
    rows = "step,epoch,learning_rate,loss,AP\n10,0,0.1,1.0,0.5\n13,0,0.1,0.9,\n"
    (tmp_path / "results.csv").write_bytes(rows.encode() + b"\xff\xfe,,\n")
    ResultsCsv(tmp_path / "results.csv", resumed_at=13, parts=())
    kept = (tmp_path / "results.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in kept] == ["10"]
