"""What an attached process does, as text."""

from __future__ import annotations

from holdfast.journal.events import ProcessObserved
from holdfast.report import attached

HUNG = ProcessObserved(
    watched_s=5.2,
    uptime_s=7200.0,
    frameworks=["tensorflow"],
    doing="waiting for the next batch",
    phase="data-wait",
    where="/home/me/data.py:12 in read",
    moves=False,
    idle_s=754.0,
    rss_bytes=3 << 30,
    threads=[
        {
            "pid": 4711, "thread": 4711, "name": "MainThread", "main": True,
            "where": "/home/me/train.py:41 in <module>", "code": "model.fit(data)",
            "inside": "/v/site-packages/tensorflow/python/eager/execute.py:53 in quick_execute",
            "state": "S", "syscall": "futex for ever", "wait": "futex_do_wait", "other_end": "", "endless": True,
            "cpu_share": 0.0, "idle_s": 750.0,
        },
        {
            "pid": 4711, "thread": 4720, "name": "Thread-3", "main": False, "where": "/home/me/data.py:12 in read",
            "code": "os.read(source, 1)", "inside": "", "state": "S", "syscall": "recvfrom fd=7 (socket:[99])",
            "wait": "sk_wait_data", "other_end": "10.0.0.3:443, connected", "endless": True, "cpu_share": 0.0,
            "idle_s": 752.0,
        },
    ],
    children=[
        {"pid": 4730, "command": "ffmpeg -i x", "state": "S", "rss_bytes": 1 << 20, "cpu_share": 0.0, "where": "",
         "syscall": "write fd=1 (pipe:[7])"},
    ],
    gpus=[{"name": "H200", "used_bytes": 40 << 30, "total_bytes": 139 << 30, "ours_bytes": 38 << 30, "utilisation": 0}],
    open_files=41,
    files=["/home/me/a.tfrecord"],
    output=[{"stream": "output", "to": "/home/me/train.log", "silent_s": 760.0}],
)  # fmt: skip


def text(observed: ProcessObserved) -> str:
    return attached.render(observed, pid=4711, command=["python", "train.py"], cwd="/home/me", width=110)


def test_a_hang_with_everything_that_was_seen() -> None:
    answer = attached.answer(HUNG, pid=4711, stalled=True)
    assert answer == "holdfast: process 4711 hangs: nothing of it has run for 12 min 34 s"
    assert text(HUNG).splitlines() == [
        "seen in 5.2 s:",
        "  process 4711, up 2 h 0 min: python train.py",
        "  phase   waiting for the next batch (data.py:12 in read), by its stacks",
        "  main    train.py:41 in <module>: `model.fit(data)`, inside tensorflow/python/eager/execute.py:53 in",
        "            quick_execute",
        "          waits for a lock or another thread, without a time limit; has not run for 12 min 30 s",
        "  thread  Thread-3: data.py:12 in read: `os.read(source, 1)`",
        "          reads socket:[99] (10.0.0.3:443, connected), without a time limit; has not run for 12 min 32 s",
        "  memory  3.0 GiB, steady",
        "  cpu     0.0 cores; nothing read or written",
        "  gpu     H200: 40.0 GiB of 139 GiB used, 38.0 GiB by this process, 0 % busy",
        "  child   4730 ffmpeg -i x, 1.0 MiB: writes to pipe:[7]",
        "  files   41 descriptors open: a.tfrecord",
        "  output  all to /home/me/train.log, last written 12 min 40 s ago",
    ]


def test_a_process_that_moves_and_one_that_may_only_wait() -> None:
    moving = HUNG.changed(moves=True, idle_s=None, doing="in a training step", rss_grown_bytes=104 << 20, cpu_share=1.9,
                          read_bytes=52 << 20)  # fmt: skip
    assert attached.answer(moving, pid=1, stalled=False) == "holdfast: process 1 moves: in a training step"
    assert "grows by 20.0 MiB/s" in text(moving) and "1.9 cores; 10.0 MiB/s read" in text(moving)
    waiting = HUNG.changed(moves=False)
    assert "too short to call it a hang" in attached.answer(waiting, pid=1, stalled=False)


def test_without_stacks_it_says_what_to_type() -> None:
    for refusal, word in (
        ("yama", "ptrace_scope=0"),
        ("container", "kubectl debug"),
        ("not-dumpable", "sudo holdfast attach 4711"),
        ("yama-nobody", "holdfast run"),
    ):
        blind = HUNG.changed(
            threads=[], doing="unknown", where="", refusal=refusal, unreadable="py-spy may not"
        )
        assert "not readable: " in text(blind) and word in text(blind)
    missing = HUNG.changed(unreadable="py-spy is not installed")
    assert "pip install py-spy" in text(missing)


def test_a_process_of_which_nothing_is_known() -> None:
    assert "memory" in text(ProcessObserved())
    assert attached.answer(ProcessObserved(), pid=1, stalled=True).startswith("holdfast: process 1 hangs")
