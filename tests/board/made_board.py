"""Makes many runs as supervisors and probes leave them, for tests, numbers and pictures. Some are being written."""

from __future__ import annotations

import json
import math
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

from holdfast.journal import events, vitals
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter

GIB = 2**30
SCRIPTS = ("train_ssd.py", "train_retinanet.py", "finetune.py", "segment.py")
HOSTS = ("tower", "gpu-box-2")


def _fact(fact: str, source: str) -> dict[str, str]:
    return {"fact": fact, "source": source}


_LEAK = {
    "cause": "memory-leak",
    "strength": "established",
    "title": "KeepFeatures.features keeps 4.4 MiB a step",
    "because": [
        _fact("memory rose by 1.2 GiB within 16 s, at every step, 4.4 MiB a step", "vitals.jsonl:10-31"),
        _fact(
            "KeepFeatures.features (train.py:6), a list, grew by 940 MiB, to 243 entries", "journal.jsonl:112"
        ),
        _fact("last measured at 1.4 GiB; the control group's memory limit is 1.5 GiB", "vitals.jsonl:31"),
    ],
    "led_to": "killed-for-memory",
    "remedies": [
        {
            "do": "empty KeepFeatures.features, bound it, or keep numbers in it instead of tensors",
            "safety": "your-choice",
            "code": "history.append(float(loss))   # not the tensor",
        }
    ],
}
_NAN = {
    "cause": "learning-rate-too-high",
    "strength": "supported",
    "title": "the loss rose from 0.41 to NaN within 40 steps at a learning rate of 0.08",
    "because": [
        _fact(
            "last finite loss 0.412 at step 4,186; gradient norm 3.1e4 there, median 2.2",
            "journal.jsonl:9121",
        )
    ],
    "led_to": "loss-not-finite",
    "remedies": [
        {
            "do": "resume from step 4,000 with `optimizer.clip_norm = 10`, or a tenth of the learning rate",
            "safety": "your-choice",
        }
    ],
}
_ERROR = {
    "cause": "script-error",
    "strength": "established",
    "title": "ValueError at train.py:41: all input arrays must have the same shape",
    "because": [_fact("ValueError left `fit` in train.py:41, `np.stack(batch)`", "journal.jsonl:88")],
    "remedies": [
        {"do": "resize the images of a batch to one size before `np.stack`", "safety": "your-choice"}
    ],
}
_EARLY = {
    "cause": "early-stopping",
    "strength": "established",
    "title": "EarlyStopping saw no better val_loss for 5 epochs",
    "normal": True,
    "because": [_fact("best val_loss 0.318 in epoch 14; patience 5", "journal.jsonl:240")],
}
_ENDS: tuple[tuple[str, list[dict[str, Any]]], ...] = (
    ("finished", []),
    ("finished", []),
    ("finished", []),
    ("stopped-early", [_EARLY]),
    ("killed", [_LEAK]),
    ("finished", []),
    ("failed", [_NAN]),
    ("finished", []),
    ("failed", [_ERROR]),
    ("finished", []),
)


def loss_at(step: float, *, seed: int, fall: float = 400.0) -> float:
    noise = math.sin(step * 12.9898 + seed) * 43758.5453
    return 1.9 * math.exp(-step / fall) + 0.28 + 0.03 * (seed % 5) + 0.05 * (noise - math.floor(noise) - 0.5)


def sample(step: int, at: float, *, seed: int, began: float, gpu: bool) -> vitals.Sample:
    grown = 1.4 * GIB + 0.3 * GIB * math.sin(step / 90 + seed)
    card = {
        "used_bytes": int(9.1 * GIB),
        "total_bytes": 16 * GIB,
        "utilisation": 78 + int(14 * math.sin(step / 7)),
    }
    return vitals.Sample(
        at=at,
        mono=at - began + 100.0,
        rss_bytes=int(grown),
        tree_rss_bytes=int(grown * 1.2),
        memory_limit_bytes=8 * GIB,
        cpu_s=(at - began) * (2.6 + 0.02 * math.sin(step / 25)),
        step=step,
        step_s=0.21 + 0.01 * math.sin(step / 11),
        loss=loss_at(step, seed=seed),
        phase="step",
        disk_read_bytes=int((at - began) * 3e7),
        written_bytes=int((at - began) * 4e6),
        disks_free_bytes={"run": int(61 * GIB - step * 2**20)},
        gpus=[card] if gpu else [],
    )


def make_run(
    path: Path, *, seed: int, ended: tuple[str, list[dict[str, Any]]] | None, at: float, seconds: int = 600
) -> RunFolder:
    """A run of `seconds` that was last written at `at`; without `ended` nobody has closed it."""
    path.mkdir(parents=True)
    folder, now = RunFolder(path), [at - seconds]
    script, host = SCRIPTS[seed % len(SCRIPTS)], HOSTS[seed % len(HOSTS)]
    journal = JournalWriter(
        folder.journal, by="supervisor", wall=lambda: now[0], monotonic=lambda: now[0] - at + seconds + 100.0
    )
    command = ["python", script, "--lr", f"{10 ** -(2 + seed % 3):g}", "--data", "data/kangaroo"]
    journal.append(
        events.RunOpened(
            name=script, command=command, host=host, cpus=8, memory_bytes=32 * GIB, cwd="/home/ann/detector"
        )
    )
    journal.append(events.FrameworkSeen(name="keras", version="3.15.1", backend="tensorflow"))
    journal.append(events.FitStarted(epochs=10, planned_steps_per_epoch=300, where=f"{script}:52"))
    steps = min(3000, seconds * 4)
    with folder.vitals.open("wb") as file:
        for second in range(seconds):
            now[0] = at - seconds + second
            step = second * steps // seconds
            file.write(vitals.encode(sample(step, now[0], seed=seed, began=at - seconds, gpu=seed % 3 != 0)))
            if second % 4 == 0:
                loss = loss_at(step, seed=seed)
                logs = {"loss": loss, "box": loss * 0.4, "class": loss * 0.6, "accuracy": 1 - loss / 2.4}
                rate = 1e-3 * (1 + math.cos(math.pi * second / seconds)) / 2
                journal.append(events.LossSeen(step=step, logs=logs, learning_rate=rate))
            if second % 60 == 59:
                loss = 1.06 * loss_at(step + 20, seed=seed + 3) + 0.02
                journal.append(
                    events.ValidationDone(
                        epoch=second // 60, batches=40, logs={"loss": loss, "accuracy": 1 - loss / 2.3}
                    )
                )
    folder.output.write_text(
        "Epoch 1/10\n" + "".join(f"\r{step}/300 - loss: 0.4\r" for step in range(9)) + "\nEpoch 2/10\n"
    )
    if ended is not None:
        outcome, findings = ended
        journal.append(events.RunClosed(outcome=outcome))
        verdict = {
            "run": path.name,
            "outcome": outcome,
            "step": steps,
            "of": 3000,
            "summary": f"{steps:,} of 3,000 steps done, ran for {seconds // 60} min, at most 2.0 GiB of memory",
            "findings": findings,
            "ruled_out": [{"cause": "input-starved", "why": "0 % of the time was spent waiting for data"}],
        }
        folder.verdict.write_text(json.dumps(verdict))
    journal.close()
    for one in path.iterdir():
        os.utime(one, (at, at))
    return folder


def make_board(
    root: Path, count: int, *, live: int, seconds: int = 600, now: float | None = None
) -> list[RunFolder]:
    """`count` runs over the last weeks. The first `live` are being written; one of these has stalled."""
    drawn, now = random.Random(7), time.time() if now is None else now
    made = [
        make_run(root / f"{SCRIPTS[n % 4][:-3]}-{n + 1}", seed=n, ended=None, at=now, seconds=seconds)
        for n in range(live)
    ]
    if live > 2:
        stalled = JournalWriter(made[2].journal, by="supervisor")
        stalled.append(events.Stalled(phase="step", step=2396, silent_for_s=64.0, limit_s=60.0))
        stalled.close()
    age = 1800.0
    for number in range(live, count):
        age += drawn.expovariate(1 / 2400)
        ended = _ENDS[number % len(_ENDS)]
        made.append(
            make_run(
                root / f"{SCRIPTS[number % 4][:-3]}-{number + 1}",
                seed=number,
                ended=ended,
                at=now - age,
                seconds=min(seconds, 120),
            )
        )
    return made


class Writers:
    """Writes a sample to each live run every second, as its supervisor would, until `close`."""

    def __init__(self, folders: list[RunFolder]) -> None:
        self._folders = folders
        self._began = {folder.path: time.time() - 600 for folder in folders}
        self._steps = {folder.path: 2400 for folder in folders}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        while not self._stop.wait(1.0):
            self.write_once(time.time())

    def write_once(self, now: float) -> None:
        for seed, folder in enumerate(self._folders):
            moves = seed != 2  # the third has stalled
            done = self._steps[folder.path] - 2400 + (4 if moves else 0)
            self._steps[folder.path] = 2400 + done % 599  # it never comes to its end
            one = sample(
                self._steps[folder.path], now, seed=seed, began=self._began[folder.path], gpu=seed % 3 != 0
            )
            with folder.vitals.open("ab") as file:
                file.write(vitals.encode(one))

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
