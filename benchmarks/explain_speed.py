"""How long `holdfast explain` takes on a run of a million steps. The design allows 300 ms, start-up included.

    python benchmarks/explain_speed.py [--steps 1000000] [--repeats 5]

Builds a folder as such a run leaves it: 27 hours of samples, a journal of some ten thousand lines, a full
ring of beats, 80 MB of progress bars; then runs the command in a process of its own and prints the fastest. The modules
are compiled to bytecode first, as an installed package's are.
"""

from __future__ import annotations

import argparse
import compileall
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import holdfast
from holdfast.journal import events as ev
from holdfast.journal import vitals
from holdfast.journal.beats import BeatWriter, Phase
from holdfast.journal.writer import JournalWriter

EPOCHS = 500


def build(path: Path, steps: int) -> None:
    per_epoch, seconds = steps // EPOCHS, steps // 10
    journal = JournalWriter(path / "journal.jsonl", by="supervisor")
    journal.append(ev.RunOpened(command=["python", "train.py"], memory_bytes=16 << 30, cpus=2))
    journal.append(ev.MachineRead(memory_limit_bytes=8 << 30, oom_kills=0))
    journal.append(ev.AttemptStarted(pid=4000))
    journal.append(
        ev.DatasetSeen(type="tf.data", cardinality=per_epoch, nodes=[{"op": "shuffle", "buffer_size": 64}])
    )
    journal.append(ev.FitStarted(epochs=EPOCHS, planned_steps_per_epoch=per_epoch))
    for epoch in range(EPOCHS):
        journal.append(ev.EpochStarted(epoch=epoch))
        for part in range(18):
            step = epoch * per_epoch + part * per_epoch // 18
            journal.append(
                ev.LossSeen(step=step, epoch=epoch, logs={"loss": 1.0 / (epoch + 1), "box_loss": 0.1})
            )
        journal.append(
            ev.EpochDone(epoch=epoch, steps=per_epoch, logs={"loss": 1.0 / (epoch + 1)}, duration_s=200.0)
        )
    journal.append(
        ev.AttemptEnded(signal="SIGKILL", oom_kills_before=0, oom_kills_after=1, duration_s=float(seconds))
    )
    with (path / "vitals.jsonl").open("wb") as file:
        for second in range(seconds):
            sample = vitals.Sample(
                at=float(second),
                mono=float(second),
                rss_bytes=(1 << 30) + second * 70_000,
                phase="step",
                fit=1,
                epoch=second * EPOCHS // seconds,
                step=second * 10,
                cpu_s=second * 1.9,
                threads=40,
                waits={"futex_do_wait": 38},
                thread_states={"S": 38, "R": 2},
                tree_rss_bytes=1 << 30,
            )
            file.write(vitals.encode(sample))
    ring = BeatWriter(path / "beats")
    for step in range(steps - 4096, steps):
        ring.write(Phase.STEP, fit=1, epoch=EPOCHS - 1, step=step, loss=0.01)
    ring.close()
    bar = b"".join(b"\r%5d/2000 \x1b[37m0s 4ms/step - loss: 0.0123" % number for number in range(0, 2000, 2))
    with (path / "output.log").open("wb") as file:
        for epoch in range(EPOCHS):
            file.write(b"Epoch %d/500\n" % epoch + bar * 4 + b"\n")


def measure(path: Path) -> tuple[float, float]:
    """Seconds by the clock, and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "explain", str(path), "--json"],
        stdout=subprocess.DEVNULL,
        check=False,
    )
    took = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 1, "the run was killed for memory, so the answer is bad news"
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        path.mkdir()
        compileall.compile_dir(Path(holdfast.__file__).parent, quiet=2)
        build(path, args.steps)
        sizes = {file.name: file.stat().st_size for file in path.iterdir()}
        print(", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sorted(sizes.items())))
        found = [measure(path) for _ in range(args.repeats)]
        print(
            f"explain: {1000 * min(took for took, _ in found):.0f} ms by the clock, "
            f"{1000 * min(cpu for _, cpu in found):.0f} ms of the processor (fastest of {args.repeats})"
        )


if __name__ == "__main__":
    main()
