"""Storage, processes and threads, environment."""

from __future__ import annotations

from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, Thread
from tests.explain.causes import test_terminal_signal
from tests.explain.made import Run, user

# -- environment -----------------------------------------------------------------------------------


def script_error(run: Run) -> None:
    run.output(
        'Epoch 1/3\nTraceback (most recent call last):\n  File "/home/me/train.py", line 41, in '
        '<module>\n    total = parts["box"]\n'
        '  File "/venv/lib/python3.11/site-packages/keras/x.py", line 7, in get\n    return '
        "d[k]\nKeyError: 'box'\n"
    )
    run.ended(1)


def near_script_error(run: Run) -> None:
    """A traceback that the script printed and survived."""
    run.output(
        'Traceback (most recent call last):\n  File "/home/me/train.py", line 41, in <module>\n    '
        "x\nKeyError: 'box'\n"
    )
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)


_CARD = {"name": "NVIDIA H200", "total_bytes": 140 << 30, "used_bytes": 0}


def gpu_not_used(run: Run) -> None:
    run.supervisor(ev.MachineRead(gpus=[_CARD]))
    run.probe(
        ev.FrameworkSeen(
            name="tensorflow",
            version="2.21.0",
            devices=["CPU:0"],
            device_kinds=["cpu"],
            built_with_cuda=False,
        )
    )
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)


def near_gpu_not_used(run: Run) -> None:
    run.supervisor(ev.MachineRead(gpus=[_CARD]))
    run.probe(
        ev.FrameworkSeen(
            name="tensorflow",
            version="2.21.0",
            devices=["CPU:0", "GPU:0"],
            device_kinds=["cpu", "gpu"],
            built_with_cuda=True,
        )
    )
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)


def _eager(run: Run, eager: bool) -> None:
    run.probe(ev.ModelSeen(parameters=10, trainable_parameters=10, run_eagerly=eager, where="train.py:25"))
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)


def eager_execution(run: Run) -> None:
    _eager(run, True)


def near_eager_execution(run: Run) -> None:
    _eager(run, False)


def recompiling(run: Run) -> None:
    run.probe(ev.FrameworkSeen(name="keras", backend="jax", devices=["cpu:0"]))
    run.probe(ev.TracesCounted(function="train_step", traces=32, calls=0, signatures=["compiled in 1.2 s"]))
    run.ended(0)


def near_recompiling(run: Run) -> None:
    run.probe(ev.FrameworkSeen(name="keras", backend="jax", devices=["cpu:0"]))
    run.probe(ev.TracesCounted(function="train_step", traces=3, calls=0, signatures=["compiled in 1.2 s"]))
    run.ended(0)


def illegal_instruction(run: Run) -> None:
    run.ended(signal="SIGILL")


def near_illegal_instruction(run: Run) -> None:
    run.ended(signal="SIGSEGV")


def download_blocked(run: Run) -> None:
    get = [
        Frame("/usr/lib/python3.11/socket.py", 718, "readinto"),
        Frame("/usr/lib/python3.11/urllib/request.py", 1391, "do_open"),
        Frame("/venv/lib/python3.11/site-packages/keras/src/utils/file_utils.py", 301, "get_file"),
        user(6, "<module>"),
    ]
    run.stalled(
        "build",
        Thread(
            tid=4000,
            main=True,
            state="S",
            wait="sk_wait_data",
            syscall="recvfrom fd=5 (socket:[9])",
            frames=get,
        ),
        step=0,
    )
    run.stopped()


def near_download_blocked(run: Run) -> None:
    run.raised("ValueError", "the URL of the bucket is not set")


def preempted(run: Run) -> None:
    test_terminal_signal.near_miss(run)


def near_preempted(run: Run) -> None:
    test_terminal_signal.example(run)


def host_rebooted(run: Run) -> None:
    import os

    run.supervisor(
        ev.RunOpened(command=["python", "train.py"], host=os.uname().nodename, boot_id="an-earlier-boot")
    )
    run.fit()


def near_host_rebooted(run: Run) -> None:
    """The folder was copied here from another machine."""
    run.fit()


def peer_missing(run: Run) -> None:
    wait = [
        Frame(
            "/venv/lib/python3.11/site-packages/tensorflow/python/eager/context.py", 602, "ensure_initialized"
        ),
        Frame(
            "/venv/lib/python3.11/site-packages/tensorflow/python/distribute/collective_all_reduce_strategy.py",
            500,
            "__init__",
        ),
        user(8, "<module>"),
    ]
    run.probe(ev.FrameworkSeen(name="tensorflow", environment={"TF_CONFIG": "{…}"}))
    run.stalled("build", Thread(tid=4000, main=True, state="S", wait="futex_do_wait", frames=wait), step=0)
    run.stopped()


def near_peer_missing(run: Run) -> None:
    """A first use of TensorFlow that takes long, on one machine."""
    wait = [
        Frame(
            "/venv/lib/python3.11/site-packages/tensorflow/python/eager/context.py", 602, "ensure_initialized"
        ),
        user(8, "<module>"),
    ]
    run.stalled("build", Thread(tid=4000, main=True, state="S", wait="futex_do_wait", frames=wait), step=0)
    run.stopped()


def uneven_batches(run: Run) -> None:
    run.raised("RuntimeError", "Inconsistent number of batches: rank 0 has 11, rank 1 has 10")


def near_uneven_batches(run: Run) -> None:
    run.raised("RuntimeError", "the batch is uneven")
