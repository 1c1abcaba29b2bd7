"""Sentences of causes in processes, threads and signals."""

from __future__ import annotations

from holdfast.explain.causes.processes.output_pipe_full import WriteTo
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled

_WRITES_TO: dict[str, str] = {
    WriteTo.STDOUT: "standard output",
    WriteTo.STDERR: "standard error",
    WriteTo.TERMINAL: "a terminal",
    WriteTo.PIPE: "a pipe",
}
_TERMINAL = {
    "SIGHUP": "the terminal was closed during the run (SIGHUP)",
    "SIGQUIT": "it was ended from the terminal (SIGQUIT, Ctrl-\\)",
    "SIGINT": "it was interrupted from the terminal (SIGINT, Ctrl-C)",
}

TITLES: dict[str, Text] = {
    "worker-died": "a loader process died[{waits:if}, and the main process waits for it forever]",
    "worker-died.while-read": "a loader process died while the main process read from it",
    "worker-died.thread": "a thread ended with {error}[ at {where}], and the loader waits for it forever",
    "fork-deadlock": "a forked process ({pid}) waits for a lock that was taken before the fork: no thread in it can "
    "release it",
    "fork-deadlock.framework": "a forked process ({pid}) calls TensorFlow or JAX[ at {where}], but the framework's "
    "threads exist only in its parent",
    "deadlock": "threads wait for one another's locks: {places:list 2}",
    "deadlock.queues": "threads wait for one another at full and empty queues: {places:list 2}",
    "deadlock.never-released": "a thread waits for a lock that nobody releases: {where}",
    "deadlock.pool": "every thread of a pool waits for a task of that pool: {where}",
    "shared-memory-full": "shared memory (/dev/shm) is full",
    "shared-memory-full.page-missing": "a page of a mapped file could not be allocated: its memory file system is "
    "full, or the file was truncated",
    "output-pipe-full": lambda values: (
        f"a write to {_WRITES_TO[values['to']]} blocks, because nobody reads it"
        + filled("[ at {where}][; the pipe was made at {made_at}]", values)
    ),
    "loader-swallows-errors": "your loader is busy at {where} and yields nothing",
    "generator-not-thread-safe": "a plain generator was read by several threads at once",
    "native-crash": lambda values: filled(
        "it crashed in native code ({signal})[ while {where} ran]"
        if values["outside"]
        else "it crashed in native code ({signal})[ at {where}]",
        values,
    ),
    "thread-limit": "no further thread can be started: the limit on threads is reached",
    "thread-limit.or-memory": "a thread could not be started",
    "cpu-oversubscribed": "{tasks:count} runnable threads share {cores:count core}",
    "process-suspended": "the process is suspended: Ctrl-Z, or somebody sent SIGSTOP",
    "terminal-signal": lambda values: _TERMINAL[values["signal"]],
    "terminal-signal.cell": "it was interrupted: the stop button, or Ctrl-C",
    "exit-hang": "training is over, and the interpreter does not exit[: the pool made at {pool} is not done]",
}

FACTS: dict[str, Text] = {
    "workers.started": "{by} started {count:count worker}[ by {method}][{after_framework:if}, after TensorFlow had "
    "started its threads][ ({where})]",
    "worker.ended": "process {pid} ({name:or a loader}) ended[ with {ended_with}][ after {lived_s:duration}]"
    "[, {rss_bytes:size} when last seen][{oom_kills_rose:if}; the kernel's out-of-memory kill counter rose]",
    "worker.crashed": "it crashed in native code ({what})[ at {where}]",
    "worker.exited": "it called os._exit[ at {where}]",
    "data.workers": "{workers:count worker} read it",
    "run.idle": "nothing in the run is computing",
    "process.idle": "no thread of the process is computing",
    "process.stopped": "the process is stopped (state T)",
    "process.still-running": "process {pid} ({name}) is still running[, at {where}]",
    "pool.awaited": "the main thread waits for the processes of the pool made at {where}",
    "exit.started": "the interpreter began to shut down after {steps:count step}[, left by {raised}]",
    "exit.python-fed": "Python feeds the data, and fit was left early: TensorFlow then waits for a thread that the "
    "interpreter has already ended",
    "shared-memory.least-free": "/dev/shm had {free_bytes:size} left at its lowest[ of {total_bytes:size}]",
    "shared-memory.never-low": "/dev/shm itself was never low",
    "oom.none": "the kernel's out-of-memory kill counter did not move",
    "pipe.not-read": "process {pid} ({command:clip 60}) has the other end and does not read it[; it is at {where}]",
    "pipe.made": "a program is started with PIPE at {lines:list 3}",
    "error.swallowed": "{error}[ at {where}] was swallowed: {message:clip 80}",
    "error.interrupt": "the script was left by KeyboardInterrupt",
    "crash.signal": "it ended with {signal}[{core_dumped:if}, and dumped core]",
    "crash.fatal": lambda values: (
        f"{values['what']} in a thread of a library, outside of Python"
        if values["outside"]
        else filled("{what}[ in {inside}]", values)
    ),
    "crash.user-line": lambda values: (
        f"{'the main thread was at' if values['outside'] else 'the Python stack ends at'} {values['where']}"
    ),
    "memory.far-from-limit": "memory was far from its limit: {peak_bytes:size} of {limit_bytes:size}",
    "limit.threads-refused": "the kernel's counter of refused processes and threads rose",
    "limit.pids": "the limit on processes and threads is {limit}",
    "limit.user-processes": "ulimit -u is {limit}",
    "limit.address-space-set": "a limit on address space is set: a thread whose stack is refused fails with the same "
    "message",
    "threads.counted": "{threads:count thread} when last counted",
    "cpu.crowded": "{tasks:count} threads and processes of this run want to run at once, on {cores:count core}"
    "[; tasks waited for a core {waited:percent} of the time][; the load is {load:count}]",
    "fit.interrupted": "KeyboardInterrupt left fit ({where}); the script caught it",
}

REMEDIES: dict[str, Advice] = {
    "worker.fix-the-crash": Advice("fix what ends the worker: in a thread it would end the whole process"),
    "worker.use-fewer-or-threads": Advice(
        "use fewer workers, or threads, which cannot die alone",
        "keras.utils.PyDataset(workers=1, use_multiprocessing=False)",
    ),
    "worker.use-a-pool-that-raises": Advice(
        "use a pool that reports it: concurrent.futures.ProcessPoolExecutor raises BrokenProcessPool"
    ),
    "worker.load-without": Advice(
        "see what ends the worker: load the same data without workers", "num_workers=0"
    ),
    "worker.use-fewer-or-smaller": Advice("use fewer workers, or smaller ones, if host memory runs out"),
    "worker.use-one": Advice("use one worker", "workers=1"),
    "worker.spawn": Advice(
        "start processes by spawn or forkserver, before TensorFlow is imported",
        'multiprocessing.set_start_method("spawn")',
    ),
    "worker.spawn-with-framework": Advice(
        "start processes that use the framework by spawn, and build the model in them",
        'multiprocessing.get_context("spawn").Pool(2)',
    ),
    "worker.use-threads-or-tf-data": Advice("use threads or tf.data instead of processes"),
    "worker.keep-framework-in-parent": Advice(
        "call the framework in the parent only, and leave the rest to the processes"
    ),
    "worker.limit-its-time": Advice("a worker that ignores SIGTERM delays the exit: give its work a timeout"),
    "thread.pass-its-exception-on": Advice(
        "pass a thread's exception on to its reader",
        "except Exception as error: queue.put(error)   # and raise it where the queue is read",
    ),
    "thread.join-or-daemon": Advice(
        "end or join the thread at {where}, or make it a daemon",
        "threading.Thread(target=work, daemon=True)",
    ),
    "queue.no-circle": Advice(
        "let no thread put into a queue that is emptied only by a thread which waits for this one: make the queue "
        "large enough for all that is under way, or take out before putting in",
    ),
    "lock.order": Advice(
        "take locks in one order everywhere, or use one lock for both",
        "with first, second:   # the same order in every thread",
    ),
    "lock.timeout": Advice(
        "give up after a timeout, and report it", "if not lock.acquire(timeout=30): raise RuntimeError(…)"
    ),
    "lock.release-always": Advice(
        "look for a lock that one thread takes twice, or that a thread had taken when it ended; `with` always "
        "releases it",
        "with lock: …",
    ),
    "pool.separate-inner-tasks": Advice(
        "give the inner tasks a pool of their own, or run them in the task itself",
        "inner = ThreadPoolExecutor(4)   # a task must not wait for its own pool",
    ),
    "pool.terminate": Advice(
        "end the pool made at {where} before the script is over",
        "pool.terminate(); pool.join()   # or: with Pool(…) as pool: …",
    ),
    "exit.clear-exception": Advice(
        "clear sys.last_exc and run gc.collect() before exiting",
        "sys.last_exc = sys.last_value = sys.last_traceback = None\ngc.collect()",
    ),
    "exit.end-threads-and-pools": Advice(
        "make your own threads daemons (daemon=True) or join them, and close pools"
    ),
    "shared-memory.raise": Advice("give the container more shared memory", "docker run --shm-size=8g …"),
    "shared-memory.use-less": Advice("use fewer workers, or smaller batches between processes"),
    "pipe.read-or-use-a-file": Advice(
        "read the pipe, or write to a file",
        'subprocess.run(command, stdout=open("log", "w"), stderr=subprocess.STDOUT)',
    ),
    "pipe.communicate": Advice(
        "with Popen(stdout=PIPE) somebody must read all the time: communicate(), or a thread"
    ),
    "loader.raise-errors": Advice(
        "raise after a few errors in a row: `except: continue` in an endless loop hides every one",
        "bad += 1\nif bad > 100: raise",
    ),
    "loader.look-for-an-endless-wait": Advice(
        "check whether it waits for something that never comes: enough samples for a batch, a file"
    ),
    "generator.make-a-dataset": Advice(
        "use a class with __getitem__, which any number of workers can read",
        "class Batches(keras.utils.PyDataset): …",
    ),
    "crash.look-at": Advice("look at what {line} calls", "gdb -ex run -ex bt --args python train.py"),
    "crash.use-faulthandler": Advice(
        "see where: run with the fault handler", "python -X faulthandler train.py"
    ),
    "crash.separate-libraries": Advice(
        "two libraries with copies of one runtime clash: import TensorFlow first, and leave out cv2, torch or others "
        "in turn"
    ),
    "limit.raise-threads": Advice(
        "raise the limit: `ulimit -u`, or the container's pids limit", "docker run --pids-limit=4096 …"
    ),
    "threads.use-fewer": Advice(
        "use fewer threads and workers", "tf.config.threading.set_inter_op_parallelism_threads(2)"
    ),
    "cpu.workers-as-cores": Advice(
        "use as many workers as cores, {cores} here, and one thread in each",
        "OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1",
    ),
    "process.continue": Advice("continue it", "kill -CONT {pid:or PID}"),
    "terminal.start-without": Advice(
        "start it where no terminal can end it: in tmux, or with `setsid holdfast run -- …`"
    ),
    "cell.keep-checkpoints": Advice(
        "run it again; what was trained is still in the model, and `keras.callbacks.ModelCheckpoint` or "
        "`BackupAndRestore` keeps it when the process ends too"
    ),
    "terminal.use-another": Advice(
        "a Ctrl-C meant for `tail -f` reaches every program of that terminal: use another one to watch"
    ),
}

RULED_OUT: dict[str, Text] = {}
