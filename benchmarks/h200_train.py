"""Complete trainings on one GPU, `holdfast train` beside torchvision, from the same weights on the same JPEGs.

    python benchmarks/h200_train.py DATASET --detectors ssd retinanet faster-rcnn

DATASET has the splits train, val and test (BCCD). Needs a GPU, JAX and PyTorch; no TensorFlow. For each detector:
one state dict of torchvision's architecture is written; both sides train it for the same number of epochs with the
same batch and learning rate, and detect on the held-out photographs, which one metric judges. Then the bare step of
our run is measured. First all steps of ours are compiled side by side. OUT/results.jsonl has a line for each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from h200_train_data import prepare

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Setting:
    detector: str
    backbone: str
    side: int
    batch: int
    epochs: int
    learning_rate: float


SETTINGS = {
    "ssd": Setting("ssd", "vgg16", 300, 128, 10, 2e-4),
    "retinanet": Setting("retinanet", "resnet50", 640, 64, 5, 5e-4),
    "faster-rcnn": Setting("faster-rcnn", "resnet50", 640, 64, 5, 5e-4),
}
RECIPE = """
[data]
train = "{train}"
validation = "{test}"

[model]
detector = "{detector}"
backbone = "{backbone}"
weights = "{weights}"
input = {side}

[train]
backend = "jax"
epochs = {epochs}
batch = {batch}
micro_batch = {batch}
precision = "bfloat16"
optimizer = "adamw"
learning_rate = {learning_rate}
backbone_rate = 1.0
frozen_stages = 0
ema = 0.0
validate_every = 100000
"""


class Utilisation:
    """What nvidia-smi says twice a second, with the time."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, float]] = []
        words = ["--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "500"]
        self._process = subprocess.Popen(["nvidia-smi", *words], stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            if line.strip().isdigit():
                self.samples.append((time.time(), float(line)))

    def mean(self, began: float, ended: float) -> float | None:
        shares = [share for at, share in self.samples if began <= at <= ended]
        return sum(shares) / len(shares) if shares else None


def holdfast(*words: str, environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "holdfast", *words], env=environment, stdout=file, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip


def entries(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]


def of_kind(found: list[dict[str, Any]], kind: str) -> list[tuple[float, dict[str, Any]]]:
    return [(one["at"], one["event"]) for one in found if one["kind"] == kind]


def summary(setting: Setting, run: Path, images: int, use: Utilisation, began: float) -> dict[str, Any]:
    """Rates between records of the loss: of the first epoch after the first of them, and of all later epochs."""
    found = entries(run)
    losses = [(at, event["step"], event["logs"]["loss"]) for at, event in of_kind(found, "loss_seen")]
    per_epoch = images / setting.batch
    early = [one for one in losses if one[1] <= per_epoch]
    late = [one for one in losses if one[1] >= per_epoch]
    ended, _ = of_kind(found, "validation_started")[-1]

    def rate(some: list[Any]) -> float | None:
        if len(some) < 2 or some[-1][0] <= some[0][0]:
            return None
        return setting.batch * (some[-1][1] - some[0][1]) / (some[-1][0] - some[0][0])

    _, validation = of_kind(found, "validation_done")[-1]
    return {
        "name": setting.detector, "batch": setting.batch, "first_loss_s": losses[0][0] - began,
        "finished_s": ended - began, "validation_s": validation["duration_s"],
        "epoch_1_images_per_s": rate(early), "images_per_s": rate(late),
        "utilisation": use.mean(late[0][0], late[-1][0]) if late else None,
        "losses": [one[2] for one in losses[:: max(1, len(losses) // 6)]],
        "AP": {key: validation["logs"].get(key) for key in ("AP", "AP50")},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--detectors", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--changes", default="{}", help='JSON: {"ssd": {"batch": 8, "epochs": 1}}')
    parser.add_argument("--only", choices=("ours", "torchvision"))
    parser.add_argument(
        "--no-bare", nargs="*", default=[], help="detectors of ours whose bare step is not measured"
    )
    parser.add_argument("--eager", action="store_true", help="torchvision without torch.compile")
    parser.add_argument("--out", type=Path, default=Path("h200-train"))
    args = parser.parse_args()
    out = args.out.resolve()
    work = out / "work"
    work.mkdir(parents=True, exist_ok=True)
    data = prepare(args.data, work / "data", repeats=args.repeats)
    truth = json.loads((data["train"] / "annotations.json").read_text())
    names, images = [one["name"] for one in truth["categories"]], len(truth["images"])
    environment = os.environ | {
        "KERAS_BACKEND": "jax", "PYTHONUNBUFFERED": "1", "TF_CPP_MIN_LOG_LEVEL": "2",
        "XDG_CACHE_HOME": str(work / "cache"),
    }  # fmt: skip
    changes = json.loads(args.changes)
    settings = [Setting(**(vars(SETTINGS[name]) | changes.get(name, {}))) for name in args.detectors]
    asked = {one.detector: question(one, data, work, len(names), compiled=not args.eager) for one in settings}
    for one in settings:
        child("h200_train_torchvision.py", {**asked[one.detector], "do": "weights"}, environment)
    if args.only != "torchvision":
        ready(settings, data, work, names, environment)
    for one in settings:
        if args.only != "torchvision":
            report(out, ours(one, work, images, environment, bare=one.detector not in args.no_bare))
        if args.only != "ours":
            use, began = Utilisation(), time.time()
            result = child("h200_train_torchvision.py", {**asked[one.detector], "do": "train"}, environment)[
                "result"
            ]
            warm = result["finished_s"] * (1 - (one.epochs - 1) / one.epochs)
            share = use.mean(began + warm + 5, began + result["finished_s"])
            report(out, {"by": "torchvision", "utilisation": share, **result})


def question(
    one: Setting, data: dict[str, Path], work: Path, classes: int, *, compiled: bool
) -> dict[str, Any]:
    return {
        "name": one.detector, "classes": classes, "side": one.side, "batch": one.batch, "epochs": one.epochs,
        "learning_rate": one.learning_rate, "workers": min(16, os.cpu_count() or 1), "compile": compiled,
        "train": str(data["train"]), "test": str(data["test"]), "weights": str(work / f"{one.detector}.pth"),
    }  # fmt: skip


def ready(
    settings: list[Setting], data: dict[str, Path], work: Path, names: list[str], environment: dict[str, str]
) -> None:
    """Imports the weights, and compiles every step and every detection side by side, for the cache."""
    began, waiting = time.time(), []
    for one in settings:
        file, folder = work / f"{one.detector}.pth", work / f"{one.detector}-imported"
        imported = holdfast(
            "import", str(file), "--classes", ",".join(names), "--out", str(folder),
            environment=environment | {"JAX_PLATFORMS": "cpu"}, log=work / f"{one.detector}-import.log",
        )  # fmt: skip
        if imported.wait():
            raise SystemExit((work / f"{one.detector}-import.log").read_text())
        recipe = work / f"{one.detector}.toml"
        values = vars(one) | {"train": data["train"], "test": data["test"], "weights": folder}
        recipe.write_text(RECIPE.format(**values))
        words = ("--set", "train.steps=2", "--run-dir", str(work / f"{one.detector}-compiled"))
        log = work / f"{one.detector}-compiled.log"
        environment_of = environment | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        waiting.append((one, holdfast("train", str(recipe), *words, environment=environment_of, log=log)))
    for one, process in waiting:
        code = process.wait()
        print(
            f"compiled {one.detector}: exit {code}, {time.time() - began:.0f} s after the start", flush=True
        )
        if code:
            print((work / f"{one.detector}-compiled.log").read_text()[-3000:], flush=True)


def ours(one: Setting, work: Path, images: int, environment: dict[str, str], *, bare: bool) -> dict[str, Any]:
    run = work / f"{one.detector}-run"
    use, began = Utilisation(), time.time()
    log = work / f"{one.detector}-run.log"
    words = ("train", str(work / f"{one.detector}.toml"), "--run-dir", str(run))
    code = holdfast(*words, environment=environment, log=log).wait()
    if code:
        return {"by": "holdfast", "name": one.detector, "exit": code, "output": log.read_text()[-3000:]}
    found = {"by": "holdfast", **summary(one, run, images, use, began)}
    if not bare:
        return found
    alone = subprocess.run(
        [sys.executable, str(HERE / "h200_train_step.py"), str(run)],
        env=environment,
        capture_output=True,
        text=True,
    )
    lines = [line for line in alone.stdout.splitlines() if line.startswith('{"result"')]
    found["bare_step"] = json.loads(lines[-1])["result"] if lines else alone.stderr[-1500:]
    return found


def child(script: str, asked: dict[str, Any], environment: dict[str, str]) -> Any:
    done = subprocess.run(
        [sys.executable, str(HERE / script), json.dumps(asked)],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-4000:])
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def report(out: Path, result: dict[str, Any]) -> None:
    print(json.dumps(result), flush=True)
    with (out / "results.jsonl").open("a") as file:
        file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
