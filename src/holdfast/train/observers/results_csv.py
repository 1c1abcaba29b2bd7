"""results.csv: one row per validation and one for the end, all with the same columns."""

from __future__ import annotations

import contextlib
import csv
import io
from pathlib import Path

from holdfast import atomic_write
from holdfast.journal.events import Event, FitDone, LossSeen, ValidationDone

METRICS = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")
FIRST_COLUMNS = ("step", "epoch", "learning_rate", "loss")


class ResultsCsv:
    """Rows after the step that a run resumes from are dropped: they will be written again. So is the row without a
    validation that an interrupted attempt left."""

    name = "results.csv"

    def __init__(self, path: Path, *, resumed_at: int, parts: tuple[str, ...]) -> None:
        self._path = path
        self._columns = (*FIRST_COLUMNS, *parts, *METRICS)
        self._last: LossSeen | None = None
        kept = _rows_until(path, resumed_at) if resumed_at else []
        self._rows = {int(row["step"]): _line([row.get(name, "") for name in self._columns]) for row in kept}
        with contextlib.suppress(OSError):  # a full disk, which may have room for the next row
            self._write()

    def notify(self, event: Event) -> None:
        if isinstance(event, LossSeen):
            self._last = event
        elif isinstance(event, ValidationDone):
            self._row(event.logs)
        elif isinstance(event, FitDone) and self._last is not None and self._last.step not in self._rows:
            self._row({})

    def _row(self, metrics: dict[str, float]) -> None:
        last = self._last or LossSeen()
        values = {
            "step": last.step,
            "epoch": last.epoch,
            "learning_rate": last.learning_rate,
            **last.logs,
            **metrics,
        }
        # After a rollback the rows of later steps are written again; one without a validation is replaced.
        self._rows = {step: row for step, row in self._rows.items() if step < last.step}
        self._rows[last.step] = _line([values.get(column, "") for column in self._columns])
        self._write()

    def _write(self) -> None:
        atomic_write.write_text(self._path, _line(self._columns) + "".join(self._rows.values()))


def _rows_until(path: Path, step: int) -> list[dict[str, str]]:
    try:
        rows = list(csv.DictReader(path.read_text(errors="replace").splitlines()))
    except (OSError, csv.Error):
        return []
    validated = [row for row in rows if any(row.get(metric) for metric in METRICS)]
    return [row for row in validated if (row.get("step") or "").isdecimal() and int(row["step"]) <= step]


def _line(values: object) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(values)  # type: ignore[arg-type]
    return out.getvalue()
