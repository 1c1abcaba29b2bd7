# ruff: noqa: E501  (lines are quoted as they are printed)
"""Words about how a process ended, and checkpoints and warnings in the output."""

from __future__ import annotations

import pytest

from holdfast.printed.endings import End, ending
from holdfast.printed.saves import saved
from holdfast.printed.warning_lines import Warned, warning

ENDS = [
    ("Killed", End.KILLED, 9, None),
    ("train.sh: line 3:  4711 Killed                  python train.py", End.KILLED, 9, 4711),
    ("zsh: killed     python train.py", End.KILLED, 9, None),
    ("Segmentation fault (core dumped)", End.CRASHED, 11, None),
    ("./run.sh: line 12: 12345 Bus error               (core dumped) python train.py", End.CRASHED, 7, 12345),
    ("Fatal Python error: Segmentation fault", End.CRASHED, 11, None),
    ("Illegal instruction (core dumped)", End.CRASHED, 4, None),
    ("Aborted (core dumped)", End.CRASHED, 6, None),
    (" *** caught segfault ***", End.CRASHED, 11, None),
    ("Out of memory: Killed process 4711 (python) total-vm:12345kB, anon-rss:1234kB", End.OUT_OF_MEMORY, None, 4711),
    ("[123.4] Memory cgroup out of memory: Killed process 4711 (python3) total-vm:1kB", End.OUT_OF_MEMORY, None, 4711),
    ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,task=python,pid=4711,uid=0", End.OUT_OF_MEMORY, None, 4711),
    ("slurmstepd: error: Detected 1 oom_kill event in StepId=123.batch. Some of the step tasks have been OOM Killed.", End.OUT_OF_MEMORY, None, None),
    ("slurmstepd: error: *** JOB 123 ON node01 CANCELLED AT 2024-01-17T10:00:00 DUE TO TIME LIMIT ***", End.TIME_LIMIT, None, None),
    ("slurmstepd: error: *** JOB 123 ON node01 CANCELLED AT 2024-01-17T10:00:00 DUE TO PREEMPTION ***", End.PREEMPTED, None, None),
    ("slurmstepd: error: *** STEP 123.0 ON node01 CANCELLED AT 2024-01-17T10:00:00 ***", End.CANCELLED, None, None),
    ("      Reason:       OOMKilled", End.OUT_OF_MEMORY, None, None),
    ("      Exit Code:    137", End.KILLED, 9, None),
    ("Reason:  Evicted", End.EVICTED, None, None),
    ("The node was low on resource: memory.", End.EVICTED, None, None),
    ("  traceback : Signal 9 (SIGKILL) received by PID 4711", End.KILLED, 9, 4711),
    ("subprocess.CalledProcessError: Command '['python']' died with <Signals.SIGSEGV: 11>.", End.CRASHED, 11, None),
    ("=>> PBS: job killed: walltime 3612 exceeded limit 3600", End.TIME_LIMIT, None, None),
    ("TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", End.OUT_OF_MEMORY, None, None),
    ("KeyboardInterrupt", End.INTERRUPTED, 2, None),
]  # fmt: skip
NO_ENDS = [
    "killed 3 stale workers", "Killed process list is empty", "The process was not killed", "exit code: 0", "Terminated early: no",
    "Aborted the download, trying again", "except KeyboardInterrupt:", "loss 137", 
    "time limit: 3600", "segmentation model loaded", "bus error rate 0.1",
]  # fmt: skip


@pytest.mark.parametrize(("line", "kind", "signal", "pid"), ENDS)
def test_how_it_ended(line: str, kind: End, signal: int | None, pid: int | None) -> None:
    words = ending(line)
    assert words is not None
    assert (words.kind, words.signal, words.pid) == (kind, signal, pid)


@pytest.mark.parametrize("line", NO_ENDS)
def test_no_end(line: str) -> None:
    assert ending(line) is None


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("Epoch 00001: val_loss improved from inf to 0.50000, saving model to best.h5", "best.h5"),
        ("Epoch 1: saving model to ckpt/w-01.weights.h5", "ckpt/w-01.weights.h5"),
        ("INFO:tensorflow:Saving checkpoints for 1000 into /tmp/model/model.ckpt.", "/tmp/model/model.ckpt"),
        ("Saving model checkpoint to ./out/checkpoint-500", "./out/checkpoint-500"),
        ("Checkpoint saved at runs/exp/weights/last.pt", "runs/exp/weights/last.pt"),
        ("saving checkpoint to out", ""),
        ("INFO:tensorflow:Assets written to: /tmp/saved/assets", "/tmp/saved/assets"),
        ("Snapshotting to binary proto file lenet_iter_1000.caffemodel", "lenet_iter_1000.caffemodel"),
        ("Model saved.", None),
        ("The checkpoint will be saved to /tmp/x", None),
        ("Could not save the checkpoint to /tmp/x: disk full", None),
        ("save_dir: /tmp/x", None),
    ],
)
def test_checkpoints(line: str, path: str | None) -> None:
    assert saved(line) == path


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("WARNING:tensorflow:Your input ran out of data; interrupting training. Make sure that your dataset", Warned.DATA_RAN_OUT),
        ("UserWarning: Your input ran out of data; interrupting training.", Warned.DATA_RAN_OUT),
        ("WARNING:tensorflow:Gradients do not exist for variables ['a/kernel:0'] when minimizing the loss.", Warned.GRADIENTS_MISSING),
        ("Batch 3: Invalid loss, terminating training", Warned.NOT_FINITE),
        ("WARNING:tensorflow:Early stopping conditioned on metric `val_loss` which is not available.", Warned.MONITOR_MISSING),
        ("WARNING:tensorflow:5 out of the last 5 calls to <function f at 0x7f> triggered tf.function retracing.", Warned.RETRACING),
        ("the petrol station ran out of data", None),
        ("gradients exist", None),
    ],
)  # fmt: skip
def test_warnings(line: str, kind: Warned | None) -> None:
    assert warning(line) == kind
