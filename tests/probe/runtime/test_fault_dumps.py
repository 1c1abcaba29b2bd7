"""The file of stacks: ours as long as the script leaves it to us, and gone when there is nothing in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import ExitStarted, ProbeFailed

from ..probed import Run, pretend_torch, run

#: What a script finds of the probe's files, by the number of the process: "txt" answers, "unasked" must not be asked.
_LISTED = """
def listed():
    names = os.listdir(os.environ["HOLDFAST_RUN_DIR"] + "/stacks")
    return sorted(name.replace(str(os.getpid()), "own") for name in names)
"""


@pytest.fixture
def torch(tmp_path: Path) -> Path:
    return pretend_torch(tmp_path / "packages")


def written(tmp_path: Path, torch: Path, code: str) -> Run:
    script = tmp_path / "train.py"
    script.write_text(code)
    done = run(script, folder=tmp_path / "run", path=(torch,), cwd=tmp_path)
    assert done.all(ProbeFailed) == []
    return done


def test_a_script_that_closes_all_descriptors_keeps_its_own_files(tmp_path: Path, torch: Path) -> None:
    """Its children too: they let go of what their parent's probe had open."""
    done = written(
        tmp_path,
        torch,
        "import os, sys, torch\n"
        "os.closerange(3, 256)\n"
        "files = [open(f'{number}.bin', 'w+b', buffering=0) for number in range(8)]\n"
        "torch.optim.Optimizer().step()\n"
        "if not os.fork():\n"
        "    for file in files: file.write(b'child\\n')\n"
        "    os._exit(0)\n"
        "print(os.wait()[1])\n"
        "for file in files: file.write(b'parent\\n')\n"
        "sys.exit(0)\n",
    )
    assert done.output == "0\n"
    assert {(tmp_path / f"{number}.bin").read_bytes() for number in range(8)} == {b"child\nparent\n"}
    assert done.one(ExitStarted).steps == 1


def test_stacks_never_go_into_a_file_of_the_scripts_own(tmp_path: Path, torch: Path) -> None:
    done = written(
        tmp_path,
        torch,
        "import os, signal, sys, time, torch\n"
        "torch.optim.Optimizer().step()\n"
        "def holds():\n"
        "    found = [f'/proc/self/fd/{name}' for name in os.listdir('/proc/self/fd')]\n"
        "    return any('faulthandler' in os.readlink(path) for path in found if os.path.exists(path))\n"
        "os.closerange(3, 256)\n"
        "files = [open(f'{number}.bin', 'w+b', buffering=0) for number in range(8)]\n"
        "until = time.monotonic() + 300\n"
        "while not holds() and time.monotonic() < until: time.sleep(0.1)\n"
        "os.kill(os.getpid(), signal.SIGUSR2)\n",
    )
    assert done.code == 0, done.output
    assert {(tmp_path / f"{number}.bin").read_bytes() for number in range(8)} == {b""}
    [stacks] = (tmp_path / "run" / "stacks").iterdir()
    assert "train.py" in stacks.read_text()


@pytest.mark.parametrize(
    "takes",
    [
        "signal.signal(signal.SIGUSR2, mine)",
        "signal.signal(signalnum=12, handler=mine)",
        "by_name(signal.SIGUSR2, mine)",
        "loop = asyncio.new_event_loop(); loop.add_signal_handler(signal.SIGUSR2, mine)",
        "faulthandler.register(signal.SIGUSR2, file=open(os.devnull, 'w'))",
        "faulthandler.register(signum=12, file=open(os.devnull, 'w'), chain=False)",
        "faulthandler.unregister(signal.SIGUSR2)",
    ],
)
def test_a_script_that_takes_the_signal_is_not_asked_by_it(tmp_path: Path, torch: Path, takes: str) -> None:
    done = written(
        tmp_path,
        torch,
        "import asyncio, faulthandler, os, signal\nfrom signal import signal as by_name\nimport torch\n"
        + _LISTED
        + "def mine(*_): print('mine')\n"
        + "before = listed()\n"
        + takes
        + "\nprint(before, listed())\n",
    )
    assert done.output == "['faulthandler-own.txt'] ['faulthandler-own.txt', 'faulthandler-own.unasked']\n"
    assert list((tmp_path / "run" / "stacks").iterdir()) == []


def test_a_library_that_takes_the_signal_without_asking_python_is_noticed(
    tmp_path: Path, torch: Path
) -> None:
    done = written(
        tmp_path,
        torch,
        "import ctypes, os, time, torch\n" + _LISTED + "torch.optim.Optimizer().step()\n"
        "handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: None)\n"
        "ctypes.CDLL(None).signal(12, handler)\n"
        "until = time.monotonic() + 300\n"
        "while len(listed()) < 2 and time.monotonic() < until: time.sleep(0.1)\n"
        "print(listed())\n",
    )
    assert done.output == "['faulthandler-own.txt', 'faulthandler-own.unasked']\n"


def test_a_script_that_had_the_signal_before_keeps_it(tmp_path: Path, torch: Path) -> None:
    done = written(
        tmp_path,
        torch,
        "import faulthandler, os, signal, sys\n"
        "faulthandler.register(signal.SIGUSR2, file=sys.stdout)\n"
        "import torch\n" + _LISTED + "print(listed(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGUSR2)\n",
    )
    listed, _, stack = done.output.partition("\n")
    assert listed == "['faulthandler-own.txt', 'faulthandler-own.unasked']"
    assert "most recent call first" in stack


def test_a_child_has_the_handler_of_its_parent(tmp_path: Path, torch: Path) -> None:
    done = written(
        tmp_path,
        torch,
        "import os, signal, torch\n"
        "signal.signal(signal.SIGUSR2, lambda *_: print('mine', flush=True))\n"
        "if not os.fork():\n"
        "    os.kill(os.getpid(), signal.SIGUSR2)\n"
        "    os._exit(0)\n"
        "os.wait()\n",
    )
    assert done.output == "mine\n"


def test_what_the_script_enables_for_crashes_stays_in_its_children(tmp_path: Path, torch: Path) -> None:
    done = written(
        tmp_path,
        torch,
        "import faulthandler, os, signal, torch\n"
        "faulthandler.enable(open('crash.txt', 'w'))\n"
        "if not os.fork():\n"
        "    signal.raise_signal(signal.SIGSEGV)\n"
        "os.wait()\n",
    )
    assert done.code == 0
    assert "Segmentation fault" in (tmp_path / "crash.txt").read_text()


def test_children_leave_no_empty_files_behind_while_the_run_goes_on(tmp_path: Path, torch: Path) -> None:
    done = written(
        tmp_path,
        torch,
        "import multiprocessing, os, subprocess, torch\n" + _LISTED + "def work(number): return number\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('fork').Pool(2, maxtasksperchild=1) as pool:\n"
        "        pool.map(work, range(10), chunksize=1)\n"
        "        pool.close()\n"
        "        pool.join()\n"
        "    for _ in range(3): subprocess.run(['true'], preexec_fn=os.setsid)\n"
        "    print(listed())\n",
    )
    assert done.output == "['faulthandler-own.txt']\n"


def test_files_of_children_that_were_killed_are_taken_away_in_time(tmp_path: Path, torch: Path) -> None:
    done = written(
        tmp_path,
        torch,
        "import os, signal, torch\n" + _LISTED + "most = 0\n"
        "for _ in range(100):\n"
        "    reads, writes = os.pipe()\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        os.write(writes, b'.')\n"
        "        signal.pause()\n"
        "    os.read(reads, 1)\n"
        "    os.kill(child, signal.SIGKILL)\n"
        "    os.waitpid(child, 0)\n"
        "    os.close(reads), os.close(writes)\n"
        "    most = max(most, len(listed()))\n"
        "print(most, 'faulthandler-own.txt' in listed())\n",
    )
    assert done.output == "33 True\n"


def test_a_crash_of_a_child_is_kept(tmp_path: Path, torch: Path) -> None:
    done = written(
        tmp_path,
        torch,
        "import os, signal, torch\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.raise_signal(signal.SIGSEGV)\n"
        "os.wait()\n"
        "print(child)\n",
    )
    [stacks] = (tmp_path / "run" / "stacks").iterdir()
    assert stacks.name == f"faulthandler-{done.output.strip()}.txt"
    assert "Segmentation fault" in stacks.read_text()
