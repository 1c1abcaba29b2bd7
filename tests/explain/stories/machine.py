"""Storage, processes and threads, environment."""

from __future__ import annotations

from holdfast.journal import events as ev
from holdfast.journal.stacks import Frame, ProcessStacks, Thread
from holdfast.journal.vitals import Process
from tests.explain.causes import test_disk_full
from tests.explain.made import MIB, TENSORFLOW, Run, main_in_fit, native, python_thread, user

# -- processes and threads -------------------------------------------------------------------------


def _worker(run: Run, *, oom: bool) -> None:
    run.probe(ev.WorkersStarted(by="PyDataset", method="spawn", count=2))
    run.fit(data=ev.DatasetSeen(type="py_dataset", workers=2, multiprocessing=True, cardinality=100))
    run.supervisor(
        ev.WorkerGone(worker_pid=4100, name="python", lived_s=12.0, rss_bytes=700 * MIB, oom_kills_rose=oom)
    )


def worker_died(run: Run) -> None:
    _worker(run, oom=False)
    queue = Frame("/usr/lib/python3.11/multiprocessing/pool.py", 774, "get")
    run.stalled("data-wait", main_in_fit(), python_thread(4002, queue))
    run.stopped()


def near_worker_died(run: Run) -> None:
    """Workers that end with their epoch."""
    _worker(run, oom=False)
    run.epochs([100, 100, 100])
    run.ended(0)


def fork_deadlock(run: Run) -> None:
    run.probe(
        ev.WorkersStarted(
            by="multiprocessing.Process", method="fork", count=1, after_framework=True, where="train.py:22"
        )
    )
    run.fit()
    child = ProcessStacks(
        pid=4100,
        name="python",
        state="S",
        threads=[python_thread(4100, user(17, "work", "with lock:"), main=True)],
    )
    run.stalled("data-wait", main_in_fit(), others=(child,))
    run.stopped()


def near_fork_deadlock(run: Run) -> None:
    """An idle worker of a pool waits for work: a lock too, and no fault."""
    run.fit()
    pool = [
        Frame("/usr/lib/python3.11/multiprocessing/synchronize.py", 95, "__enter__"),
        Frame("/usr/lib/python3.11/multiprocessing/queues.py", 364, "get"),
        Frame("/usr/lib/python3.11/multiprocessing/pool.py", 114, "worker"),
    ]
    child = ProcessStacks(pid=4100, name="python", state="S", threads=[python_thread(4100, *pool, main=True)])
    run.stalled("data-wait", main_in_fit(), native(wait="wait_for_partner"), others=(child,))
    run.stopped()


def deadlock(run: Run) -> None:
    run.fit()
    first = python_thread(4002, user(12, "load", "with lock_b:"), name="Thread-1")
    second = python_thread(4003, user(19, "label", "with lock_a:"), name="Thread-2")
    run.stalled("fill", main_in_fit(), first, second, step=0)
    run.stopped()


def near_deadlock(run: Run) -> None:
    """Two threads at a queue, and a reader that waits."""
    run.fit()
    queue = [
        Frame("/usr/lib/python3.11/threading.py", 327, "wait"),
        Frame("/usr/lib/python3.11/queue.py", 171, "get"),
        user(40, "pump"),
    ]
    run.stalled(
        "fill",
        main_in_fit(),
        python_thread(4002, *queue),
        python_thread(4003, *queue),
        native(4004, wait="wait_for_partner"),
        step=0,
    )
    run.stopped()


def shared_memory_full(run: Run) -> None:
    run.samples(5, rss_bytes=300 * MIB, phase="step", fit=1, step=9, disks_free_bytes={"shm": 0})
    run.ended(signal="SIGBUS")


def near_shared_memory_full(run: Run) -> None:
    run.samples(5, rss_bytes=300 * MIB, phase="step", fit=1, step=9, disks_free_bytes={"shm": 900 * MIB})
    run.ended(signal="SIGSEGV")


def output_pipe_full(run: Run) -> None:
    run.fit()
    frames = [user(15, "report", "print(line)"), Frame(TENSORFLOW, 1, "fit"), user(30, "<module>")]
    run.stalled(
        "callback",
        Thread(
            tid=4000,
            main=True,
            state="S",
            wait="anon_pipe_write",
            syscall="write fd=1 (pipe:[5])",
            frames=frames,
        ),
    )
    run.stopped()


def near_output_pipe_full(run: Run) -> None:
    """A worker of a pool in its own pipe."""
    run.fit()
    send = Frame("/usr/lib/python3.11/multiprocessing/connection.py", 384, "_send")
    child = ProcessStacks(
        pid=4100,
        name="python",
        state="S",
        threads=[python_thread(4100, send, wait="anon_pipe_write", syscall="write fd=11 (pipe:[6])")],
    )
    run.stalled("data-wait", main_in_fit(), native(wait="wait_for_partner"), others=(child,))
    run.stopped()


def loader_swallows_errors(run: Run) -> None:
    run.fit(data=ev.DatasetSeen(type="generator", cardinality=-2))
    frames = [
        user(9, "examples", "continue"),
        Frame(
            "/venv/lib/python3.11/site-packages/keras/src/trainers/data_adapters/generator_data_adapter.py",
            1,
            "get",
        ),
        user(30, "<module>"),
    ]
    run.stalled("fill", Thread(tid=4000, main=True, state="R", cpu_s=0.98, frames=frames), step=0)
    run.stopped()


def near_loader_swallows_errors(run: Run) -> None:
    """Your code asleep, not busy."""
    run.fit(data=ev.DatasetSeen(type="generator", cardinality=-2))
    frames = [
        user(9, "examples"),
        Frame("/venv/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py", 1, "__call__"),
    ]
    run.stalled("fill", main_in_fit(), python_thread(4002, *frames, wait="hrtimer_nanosleep"), step=0)
    run.stopped()


def generator_not_thread_safe(run: Run) -> None:
    run.raised("ValueError", "generator already executing")


def near_generator_not_thread_safe(run: Run) -> None:
    run.raised("ValueError", "the generator gave no batch")


def native_crash(run: Run) -> None:
    run.output(
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n  File "
        '"/home/me/train.py", line 12 in resize\n'
    )
    run.samples(5, rss_bytes=600 * MIB, phase="step", fit=1, step=9)
    run.ended(signal="SIGSEGV")


def near_native_crash(run: Run) -> None:
    test_disk_full.example(run)


def thread_limit(run: Run) -> None:
    run.output(
        "terminate called\nF external/local_xla/xla/tsl/platform/default/env.cc:74] Thread tf_Compute creation "
        "via pthread_create() failed.\n"
    )
    run.ended(signal="SIGABRT", pids_refused_before=0, pids_refused_after=1)


def near_thread_limit(run: Run) -> None:
    """The same words under a limit on address space."""
    run.supervisor(ev.MachineRead(rlimits={"data": 2000 * MIB}))
    run.samples(5, rss_bytes=900 * MIB, virtual_bytes=1990 * MIB, phase="compile")
    run.output(
        "F external/local_xla/xla/tsl/platform/default/env.cc:74] Thread tf_Compute creation via "
        "pthread_create() failed.\n"
    )
    run.ended(signal="SIGABRT", pids_refused_before=0, pids_refused_after=0)


def _crowd(run: Run, count: int) -> None:
    run.fit()
    run.samples(
        20,
        rss_bytes=600 * MIB,
        phase="step",
        fit=1,
        step=lambda n: n + 1,
        thread_states={"R": 2, "S": 30},
        pressure={"cpu.some": 80.0},
        processes=[Process(pid=4100 + n, state="R") for n in range(count)],
    )
    run.epochs([100, 100, 100])
    run.ended(0)


def cpu_oversubscribed(run: Run) -> None:
    _crowd(run, 12)


def near_cpu_oversubscribed(run: Run) -> None:
    _crowd(run, 1)


def process_suspended(run: Run) -> None:
    run.fit()
    run.samples(3, rss_bytes=600 * MIB, phase="step", fit=1, step=40, state="T")
    run.supervisor(ev.ChildStateChanged(state="T", was="S"))
    run.stalled("step", Thread(tid=4000, main=True, state="T", wait="do_signal_stop"))
    run.stopped()


def near_process_suspended(run: Run) -> None:
    run.fit()
    run.supervisor(ev.ChildStateChanged(state="T", was="S"), ev.ChildStateChanged(state="S", was="T"))
    run.epochs([100, 100, 100])
    run.ended(0)


def terminal_signal(run: Run) -> None:
    run.fit()
    run.supervisor(ev.SignalReceived(signal="SIGHUP"))
    run.ended(signal="SIGHUP")


def near_terminal_signal(run: Run) -> None:
    run.fit()
    run.supervisor(ev.SignalReceived(signal="SIGTERM", from_pid=1, from_command="slurmstepd"))
    run.ended(signal="SIGTERM", stopped_by_us="terminate")


def exit_hang(run: Run) -> None:
    run.fit(data=ev.DatasetSeen(type="generator", python_fed=True, cardinality=-2))
    run.probe(
        ev.FitDone(steps=8, epochs=1, raised="RuntimeError"), ev.ExitStarted(raised="RuntimeError", steps=8)
    )
    run.stalled("exit", Thread(tid=4000, main=True, state="S", wait="futex_do_wait"), step=8)
    run.stopped()


def near_exit_hang(run: Run) -> None:
    run.fit()
    run.epochs([100, 100, 100])
    run.probe(ev.ExitStarted(exit_code=0, steps=300))
    run.ended(0)


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
    near_terminal_signal(run)


def near_preempted(run: Run) -> None:
    terminal_signal(run)


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
