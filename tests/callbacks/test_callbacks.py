"""The callbacks in real fits, each in a process of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.callbacks.tracker_tags import tag_active_runs, tags_of
from holdfast.journal import reader
from holdfast.journal.events import AttemptEnded, EpochDone, Event, FitStarted, RunClosed
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.hot

KERAS = """
import sys, numpy as np, keras, holdfast
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
watched = holdfast.KerasCallback("r")
class Fails(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if "fail" in sys.argv and epoch == 1: raise ValueError("no more")
x = np.ones((8, 2), "float32")
model.fit(x, x[:, :1], batch_size=4, epochs=3, verbose=0, callbacks=[watched, Fails()])
print("folder", watched.run_dir)
"""


def run(code: str, cwd: Path, *words: str, under: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    (cwd / "train.py").write_text(code)
    return subprocess.run(
        [*under, sys.executable, "train.py", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE_S,
    )


def events(folder: Path) -> list[Event]:
    return [entry.event for entry in reader.read(folder / "journal.jsonl")]


def kinds(found: list[Event], kind: type[Event]) -> int:
    return sum(isinstance(event, kind) for event in found)


def test_a_fit_of_keras_is_watched_and_its_verdict_printed(tmp_path: Path) -> None:
    done = run(KERAS, tmp_path)
    assert (done.returncode, done.stdout) == (0, "folder r\n"), done.stderr
    assert "verdict[" in done.stderr
    found = events(tmp_path / "r")
    assert (kinds(found, FitStarted), kinds(found, EpochDone)) == (1, 3)
    assert isinstance(found[-1], RunClosed) and found[-1].outcome == "ended"


def test_an_exception_in_the_fit_ends_the_run_with_the_process(tmp_path: Path) -> None:
    done = run(KERAS, tmp_path, "fail")
    assert done.returncode == 1 and "ValueError: no more" in done.stderr
    found = events(tmp_path / "r")
    (ended,) = [event for event in found if isinstance(event, AttemptEnded)]
    assert ended.exit_code == 1
    assert "verdict[callback-raised]" in done.stderr


def test_under_holdfast_run_the_callback_adds_nothing(tmp_path: Path) -> None:
    under = (sys.executable, "-m", "holdfast", "run", "--run-dir", "outer", "--")
    done = run(KERAS, tmp_path, under=under)
    assert (done.returncode, done.stdout) == (0, "folder None\n"), done.stderr
    assert not (tmp_path / "r").exists()
    assert kinds(events(tmp_path / "outer"), FitStarted) == 1


LIGHTNING = """
import sys, torch, lightning, holdfast
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__(); self.layer = torch.nn.Linear(2, 1)
    def training_step(self, batch, index):
        if "fail" in sys.argv and index == 2: raise ValueError("no more")
        return self.layer(batch[0]).pow(2).mean()
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), 0.1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(32, 2)), batch_size=4)
watched = holdfast.LightningCallback("r")
trainer = lightning.Trainer(max_epochs=2, callbacks=[watched], logger=False, enable_progress_bar=False,
                            enable_checkpointing=False, accelerator="cpu")
trainer.fit(Model(), data)
print("folder", watched.run_dir)
"""


@pytest.mark.skipif(importlib.util.find_spec("lightning") is None, reason="lightning is not installed")
def test_a_fit_of_lightning(tmp_path: Path) -> None:
    done = run(LIGHTNING, tmp_path)
    assert (done.returncode, done.stdout) == (0, "folder r\n"), done.stderr
    assert "verdict[" in done.stderr
    done = run(LIGHTNING.replace('"r"', '"f"'), tmp_path, "fail")
    assert done.returncode == 1
    (ended,) = [event for event in events(tmp_path / "f") if isinstance(event, AttemptEnded)]
    assert ended.exit_code == 1


# -- trackers -------------------------------------------------------------------------------------

VERDICT = {
    "outcome": "failed",
    "findings": [{"cause": "disk-full", "title": "the disk is full"}],
    "summary": "s",
}
TAGS = {
    "holdfast.outcome": "failed",
    "holdfast.cause": "disk-full",
    "holdfast.verdict": "the disk is full",
    "holdfast.run_dir": "runs/x",
}


def test_the_tags_of_a_verdict() -> None:
    assert tags_of(VERDICT, Path("runs/x")) == TAGS
    well = tags_of({"outcome": "finished", "findings": [], "summary": "ended by itself"}, Path("r"))
    assert (well["holdfast.cause"], well["holdfast.verdict"]) == ("", "ended by itself")


def test_a_tracker_that_fails_is_said_and_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    class Gone:
        @staticmethod
        def active_run() -> None:
            raise ConnectionError("no server")

    tag_active_runs(TAGS, {"mlflow": Gone})
    tag_active_runs(TAGS, {})
    assert "holdfast: no tags for mlflow: ConnectionError: no server" in capsys.readouterr().err


TRACKED = (
    LIGHTNING.replace(
        "trainer.fit(",
        """
import os, mlflow, wandb
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
mlflow.set_tracking_uri("file:" + os.getcwd() + "/mlruns")
mlflow.start_run(run_name="t"); wandb.init(mode="offline", project="p", settings=wandb.Settings(silent=True))
trainer.fit(""",
    )
    + """
print(mlflow.get_run(mlflow.active_run().info.run_id).data.tags["holdfast.outcome"])
print(wandb.run.summary["holdfast.outcome"], wandb.run.summary["holdfast.run_dir"])
mlflow.end_run(); wandb.finish()
"""
)


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("lightning", "mlflow", "wandb")),
    reason="lightning, mlflow and wandb are not installed",
)
def test_active_runs_of_mlflow_and_wandb_are_tagged(tmp_path: Path) -> None:
    done = run(TRACKED, tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (0, ["finished", "finished r"]), (
        done.stdout + done.stderr
    )
