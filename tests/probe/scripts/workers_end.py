"""Workers that end: by themselves, by a signal, with an exit code, and one that their parent ends on purpose."""

import multiprocessing
import os
import signal
import sys
import time

import jax  # noqa: F401


def work(how):
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "crashed":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "left":
        sys.exit(3)
    if how == "waits":
        time.sleep(6000)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=work, args=(how,)) for how in ("done", "killed", "crashed", "left", "waits")
    ]
    for worker in workers:
        worker.start()
    for worker in workers[:-1]:
        worker.join()
    workers[-1].terminate()
    workers[-1].join()
    print(*[worker.pid for worker in workers])
