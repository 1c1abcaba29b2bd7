"""Put on PYTHONPATH by the supervisor: starts the probe in every Python process of a run, and steps aside.

Any Python may meet this file, so it is written for all of them. The probe itself needs CPython 3.7 or later; another
interpreter is observed from outside only, and one line of the journal says so.
"""
# mypy: ignore-errors

import os
import sys


def _step_aside():
    """Leaves sys.path as it would be without us. PYTHONPATH stays, so that spawned processes are covered."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.abspath(entry) != here]
    return here


def _start(here):
    run_dir = os.environ.get("HOLDFAST_RUN_DIR")
    if not run_dir:
        return
    try:
        attempt = int(os.environ.get("HOLDFAST_ATTEMPT") or 1)
        if sys.version_info >= (3, 7) and sys.implementation.name == "cpython":
            _start_probe(here, run_dir, attempt)
        else:
            _record_left_out(run_dir, attempt)
    except Exception:  # the script comes first
        if os.environ.get("HOLDFAST_PROBE_DEBUG"):
            raise


def _start_probe(here, run_dir, attempt):
    # A package without an __init__ of its own: the modules of the probe, under a name nobody else has.
    package = type(sys)("_holdfast")
    package.__path__ = [os.path.dirname(os.path.dirname(here))]
    sys.modules["_holdfast"] = package
    from _holdfast.probe.bootstrap import begin

    begin(run_dir, attempt)


def _record_left_out(run_dir, attempt):
    """The event `ProbeLeftOut`, by the first Python process of an attempt. Nothing is imported for it but `time`."""
    this_run = "%d %s" % (attempt, run_dir)  # as `bootstrap` has it, which this interpreter cannot import
    if os.environ.get("HOLDFAST_FIRST") == this_run:
        return
    os.environ["HOLDFAST_FIRST"] = this_run
    import time

    event = '{"python": "%d.%d.%d", "implementation": "%s"}' % (sys.version_info[:3] + (_implementation(),))
    line = '{"kind": "probe_left_out", "at": %.6f, "mono": %.6f, "by": "probe", "pid": %d, "attempt": %d, '
    line += '"event": %s}\n'
    line %= (time.time(), _monotonic_s(time), os.getpid(), attempt, event)
    flags = (
        os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    )  # no link, and no FIFO at which it would wait
    journal = os.open(os.path.join(run_dir, "journal.jsonl"), flags)
    try:
        os.write(journal, line.encode("ascii"))
    finally:
        os.close(journal)


def _monotonic_s(time):
    if hasattr(time, "monotonic"):
        return time.monotonic()
    with open("/proc/uptime") as file:  # Python 2
        return float(file.read().split()[0])


def _implementation():
    if hasattr(sys, "implementation"):
        return sys.implementation.name
    return "pypy" if hasattr(sys, "pypy_version_info") else "cpython"  # Python 2


def _chain():
    """Runs the sitecustomize that this one hides, as if it had been found first."""
    if sys.version_info < (3, 5):
        _chain_in_python_2()
        return
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _chain_in_python_2():
    import imp

    try:
        found = imp.find_module("sitecustomize", sys.path)
    except ImportError:
        return
    with found[0]:
        imp.load_module("sitecustomize", *found)


_start(_step_aside())
_chain()
