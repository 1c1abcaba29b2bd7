"""Makes a run's folder by hand: what a supervisor and a probe would have written."""

from __future__ import annotations

import math
from itertools import count
from pathlib import Path

from holdfast.journal import events, stack_files, vitals
from holdfast.journal.beats import BeatWriter, Phase
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter

GIB = 2**30


def run_folder(path: Path, *, steps: int = 300, name: str = "train.py", end: str = "stall") -> RunFolder:
    """A run of one step a second that leaks memory, then stalls, diverges or finishes."""
    path.mkdir(parents=True)
    folder = RunFolder(path)
    clock = count()
    now = [1000.0]
    journal = JournalWriter(
        folder.journal, by="supervisor", wall=lambda: 1.7e9 + now[0], monotonic=lambda: now[0]
    )
    journal.append(
        events.RunOpened(name=name, command=["python", name], host="a-host.example", memory_bytes=8 * GIB)
    )
    journal.append(events.FrameworkSeen(name="keras", version="3.15.1", environment={"TF_X": "secret"}))
    journal.append(
        events.FitStarted(fit=1, epochs=3, planned_steps_per_epoch=steps // 3, where="/home/ann/train.py:12")
    )
    beats = BeatWriter(folder.beats)
    with folder.vitals.open("wb") as file:
        for step in range(steps):
            now[0] = 1000.0 + next(clock)
            loss = (
                math.nan
                if end == "nan" and step > steps * 0.8
                else 5.0 / (1 + step / 20) + 0.1 * math.sin(step)
            )
            if step % (steps // 3) == 0:
                journal.append(events.EpochStarted(epoch=step // (steps // 3)))
            if step % 7 == 0:
                journal.append(
                    events.LossSeen(
                        step=step, logs={"box": loss * 0.4, "class": loss * 0.6}, learning_rate=1e-3
                    )
                )
            beats.write(Phase.STEP, step=step, loss=loss, step_ns=10**9, mono=now[0])
            file.write(vitals.encode(vitals.Sample(
                at=1.7e9 + now[0], mono=now[0], rss_bytes=GIB + step * 2**22, tree_rss_bytes=GIB + step * 2**22 + 10**8,
                memory_limit_bytes=4 * GIB, cpu_s=step * 1.5, step=step, step_s=1.0, data_wait_s=step * 0.3,
                compute_s=step * 0.6, loss=None if math.isnan(loss) else loss)))  # fmt: skip
    journal.append(events.ValidationDone(epoch=0, batches=3, logs={"val_loss": 2.0}))
    journal.append(events.SaveDone(path="/home/ann/model.keras"))
    folder.output.write_text("Epoch 1/3\n\r 1/100 \r 2/100 \n</script><script>alert(1)</script>\n")
    folder.stacks.mkdir()
    if end == "stall":
        frame = stack_files.Frame("/home/ann/train.py", 41, "batches")
        thread = stack_files.Thread(
            tid=1, name="MainThread", state="S", wait="futex_do_wait", frames=[frame], main=True
        )
        look = stack_files.StackSnapshot(
            now[0],
            [stack_files.ProcessStacks(pid=9, name="python", command="python train.py", threads=[thread])],
        )
        stack_files.write(
            folder.stacks / "0001-stall.json",
            stack_files.Capture(reason="stall", phase="step", step=steps, looks=[look]),
        )
        journal.append(events.Stalled(phase="step", step=steps, silent_for_s=12.0, limit_s=10.0))
    if end == "nan":
        journal.append(events.NonFiniteSeen(what="loss", name="loss", step=steps, value="nan"))
    if end == "finished":
        journal.append(events.FitDone(fit=1, steps=steps, epochs=3, epochs_done=3))
        journal.append(events.ExitStarted(exit_code=0, steps=steps))
        journal.append(events.AttemptEnded(exit_code=0, duration_s=float(steps)))
        journal.append(events.RunClosed(outcome="finished"))
    return folder
