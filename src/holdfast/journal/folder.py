"""The names of the files in a run folder. No other module spells them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: The environment variables by which a child finds the run folder.
RUN_DIR_VARIABLE = "HOLDFAST_RUN_DIR"
ATTEMPT_VARIABLE = "HOLDFAST_ATTEMPT"


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def recipe(self) -> Path:
        return self.path / "recipe.toml"

    @property
    def journal(self) -> Path:
        return self.path / "journal.jsonl"

    @property
    def beats(self) -> Path:
        return self.path / "beats"

    @property
    def vitals(self) -> Path:
        return self.path / "vitals.jsonl"

    @property
    def stacks(self) -> Path:
        return self.path / "stacks"

    def fault_file(self, pid: int) -> Path:
        """What the fault handler of a process writes: its stacks on SIGUSR2, and where it crashed."""
        return self.stacks / f"faulthandler-{pid}.txt"

    def unasked_file(self, pid: int) -> Path:
        """Exists when the process uses SIGUSR2 itself, and must not get it."""
        return self.stacks / f"faulthandler-{pid}.unasked"

    @property
    def output(self) -> Path:
        return self.path / "output.log"

    @property
    def source(self) -> Path:
        """The script as it was when it was started."""
        return self.path / "source"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def verdict(self) -> Path:
        return self.path / "verdict.json"

    @property
    def dataset(self) -> Path:
        """Statistics of the data, for the report."""
        return self.path / "dataset.json"

    @property
    def validation(self) -> Path:
        """The newest validation, for the report."""
        return self.path / "validation.json"

    @property
    def experiment(self) -> Path:
        """What `holdfast explain --experiment` trains again. It holds rows of the user's data."""
        return self.path / "experiment"

    @property
    def experiment_model(self) -> Path:
        return self.experiment / "model.json"

    @property
    def experiment_rows(self) -> Path:
        return self.experiment / "batch.npz"

    @property
    def experiment_result(self) -> Path:
        return self.experiment / "result.json"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def is_run(self) -> bool:
        """Whether the folder has any record of a run; an output log alone is enough."""
        return any(path.exists() for path in (self.journal, self.beats, self.vitals, self.output))
