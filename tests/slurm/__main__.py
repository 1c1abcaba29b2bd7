"""Holdfast under a real SLURM, one event after the other: `python -m tests.slurm [EVENT …]` (root; see cluster.py).

Each event has a job of its own, as `holdfast launch slurm` writes it: a tiny detector, or with `--ssd` a small SSD, in
two processes on two of three nodes. The verdict is that of `holdfast explain` once the job has left its nodes; then it
is started again, by SLURM where SLURM does that, and the weights at its end are compared with those of the job that
nobody disturbed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.slurm.cluster import Cluster, missing
from tests.train import shapes

ROOT = Path(__file__).parent.parent.parent
EVENT_AT = 30
SETTINGS = """
backend = "jax"
steps = 80
batch = 8
checkpoint_every = 10
[hardware]
processes = 2
"""


@dataclass(frozen=True)
class Event:
    """`happens` gets the cluster, the job's number and its nodes."""

    name: str
    what: str
    happens: Callable[[Cluster, str, list[str]], object] | None
    expected: str = "preempted"
    submit: tuple[str, ...] = ()
    by_hand: bool = False  # SLURM does not start it again


def _preempt(cluster: Cluster, job: str, nodes: list[str]) -> None:
    words = (
        "sbatch",
        "-p",
        "urgent",
        "-N3",
        "-n3",
        "--exclusive",
        "--output=/dev/null",
        "--wrap",
        "srun sleep 5",
    )
    cluster.command(*words)


EVENTS = (
    Event("undisturbed", "nothing", None, ""),
    Event("second-node-lost", "the second node loses its power", lambda c, job, nodes: c.power_off(nodes[1]),
          "host-rebooted"),
    Event("first-node-lost", "the first node, with the coordinator, loses its power",
          lambda c, job, nodes: c.power_off(nodes[0]), "host-rebooted"),
    Event("cable-cut", "the second node loses its network", lambda c, job, nodes: c.unplug(nodes[1]),
          "host-rebooted"),
    Event("time-limit", "the job reaches its time limit of 2 minutes", None, submit=("--time=2",)),
    Event("preempted", "a job of a partition with priority needs the nodes", _preempt),
    Event("requeued", "`scontrol requeue`", lambda c, job, nodes: c.command("scontrol", "requeue", job)),
    Event("cancelled", "`scancel`, and the same job is submitted again",
          lambda c, job, nodes: c.command("scancel", job), by_hand=True),
)  # fmt: skip


class Trial:
    """One event and its job, in a folder of its own."""

    def __init__(self, cluster: Cluster, event: Event, folder: Path, script: Path) -> None:
        self.cluster, self.event, self.folder, self.script = cluster, event, folder, script
        self.run = folder / "recipe" / "run"
        self.job = ""

    def result(self) -> dict[str, object]:
        event = self.event
        self.job = self._submit()
        row: dict[str, object] = {"event": event.name, "what": event.what}
        if event.name != "undisturbed":
            row |= self._disturbed()
        self._wait_for_the_end()
        row["starts"] = self._starts()
        row["weights"] = self._weights()
        row["attempts"] = _earlier(self.cluster, self.run)
        return row

    def _disturbed(self) -> dict[str, object]:
        event = self.event
        self.cluster.wait_until(lambda: self.cluster.job(self.job).get("JobState") == "RUNNING", 120.0)
        if event.happens is not None:
            self.cluster.wait_until(lambda: self._step() >= EVENT_AT, 300.0)
            nodes = _nodes(self.cluster.job(self.job)["NodeList"])
            event.happens(self.cluster, self.job, nodes)
        began = time.monotonic()
        self.cluster.wait_until(self._left_its_nodes, 300.0)
        found = _explained(self.cluster, self.run)
        off_s = time.monotonic() - began
        if event.by_hand:
            self.cluster.wait_until(
                lambda: self.cluster.job(self.job).get("JobState", "") not in ("COMPLETING", "RUNNING"), 120.0
            )
            self.job = self._submit()
        first = (found["findings"] or [{"cause": "", "title": found["summary"]}])[0]
        because = [one["fact"] for one in first.get("because", [])][:4]
        return {
            "verdict": first["cause"], "title": first["title"], "because": because,
            "left_after_s": round(off_s), "step": self._step(),
        }  # fmt: skip

    def _submit(self) -> str:
        words = ("sbatch", "--parsable", "--nodes=2", *self.event.submit, str(self.script))
        return self.cluster.command(*words, cwd=self.folder).strip()

    def _left_its_nodes(self) -> bool:
        return self.cluster.job(self.job).get("JobState") not in ("RUNNING", "COMPLETING")

    def _wait_for_the_end(self) -> None:
        for name in self.cluster.names:  # a node that comes back, as after a repair
            if not self.cluster.is_up(name):
                self.cluster.plug(name)
                self.cluster.boot(name)
        done = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
        self.cluster.wait_until(lambda: self.cluster.job(self.job).get("JobState") in done, 900.0)

    def _log(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))

    def _step(self) -> int:
        try:
            found = json.loads((self.run / "group.json").read_text())
        except (OSError, ValueError):
            return 0
        return max((one["step"] for one in found["processes"]), default=0)

    def _starts(self) -> int:
        return len(re.findall(r"processes there", self._log()))

    def _weights(self) -> str:
        found = re.findall(r"^(?:weights|finished \d+) (\w+)", self._log(), re.MULTILINE)
        return found[-1][:16] if found else ""


def _tiny_holdfast(folder: Path) -> Path:
    """A folder with a `holdfast` for the PATH of the job."""
    folder.mkdir()
    (folder / "holdfast").write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.slurm.tiny_holdfast "$@"\n')
    (folder / "holdfast").chmod(0o755)
    return folder


def _nodes(text: str) -> list[str]:
    """`node[0-1]`, `node[0,2]` or `node1`."""
    found = re.fullmatch(r"(\w+)\[([\d,-]+)\]", text)
    if not found:
        return [text]
    numbers: list[int] = []
    for part in found[2].split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return [f"{found[1]}{number}" for number in numbers]


def _explained(cluster: Cluster, run: Path) -> dict[str, list[dict[str, str]]]:
    """Where the commands of SLURM are, as a user of the cluster would."""
    words = (sys.executable, "-m", "holdfast", "explain", "--json", str(run))
    found: dict[str, list[dict[str, str]]] = json.loads(cluster.command(*words, codes=(0, 1)))
    return found


def _earlier(cluster: Cluster, run: Path) -> list[str]:
    """How the attempts before the last one ended, as the last verdict has it."""
    return [one["ended"] for one in _explained(cluster, run).get("earlier", [])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("events", nargs="*", metavar="EVENT", help=", ".join(one.name for one in EVENTS))
    parser.add_argument("--ssd", action="store_true", help="a real detector, whose compilation takes minutes")
    parser.add_argument("--keep", action="store_true", help="leave the folder with logs and runs")
    args = parser.parse_args()
    if problems := missing():
        print("no SLURM can be set up here:", *problems, sep="\n  ")
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the cluster is taken down then, too
    wanted = [one for one in EVENTS if not args.events or one.name in ("undisturbed", *args.events)]
    folder = Path(tempfile.mkdtemp(prefix="holdfast-slurm-"))
    folder.chmod(0o755)
    cluster = Cluster(folder / "cluster")
    programs = Path(sys.executable).parent if args.ssd else _tiny_holdfast(folder / "bin")
    os.environ |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "JAX_PLATFORMS": "cpu",
                   "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"), "TF_CPP_MIN_LOG_LEVEL": "2",
                   "PYTHONPATH": str(ROOT)}  # fmt: skip
    try:
        cluster.start()
        return _trials(cluster, wanted, folder)
    finally:
        cluster.close()
        if args.keep:
            print("kept:", folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _trials(cluster: Cluster, wanted: list[Event], folder: Path) -> int:
    data = shapes.write(folder / "shapes", 24)
    recipe = folder / "recipe.toml"
    recipe.write_text(shapes.RECIPE.format(data=json.dumps(str(data)), detector="ssd") + SETTINGS)
    words = [sys.executable, "-m", "holdfast", "launch", "slurm", str(recipe), "--hosts", "2"]
    script = folder / "job.sbatch"
    script.write_text(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    rows = []
    for event in wanted:
        place = folder / event.name
        place.mkdir()
        try:
            rows.append(Trial(cluster, event, place, script).result())
        except (TimeoutError, RuntimeError, KeyError) as error:
            rows.append({"event": event.name, "what": event.what, "failed": repr(error)})
        print(json.dumps(rows[-1]), flush=True)
    whole = rows[0].get("weights")
    bad = 0
    for event, row in zip(wanted, rows, strict=True):
        right = bool(whole) and row.get("weights") == whole and row.get("verdict", "") == event.expected
        bad += not right
        said = row.get("title", row.get("failed", ""))
        print(f"{'ok ' if right else 'BAD'} {event.name:18} {said}; {row.get('starts')} starts")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
