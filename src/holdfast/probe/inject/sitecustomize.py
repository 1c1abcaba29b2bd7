"""Put on PYTHONPATH by the supervisor: starts the probe in every Python process of a run, and steps aside.

Any Python may meet this file, so it is written for all of them. The probe itself needs CPython 3.7 or later.
"""
# mypy: ignore-errors

import sys


def _step_aside():
    """Leaves sys.path as it would be without us. PYTHONPATH stays, so that spawned processes are covered."""
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.abspath(entry) != here]
    return here


def _can_be_observed():
    return sys.version_info >= (3, 7) and sys.implementation.name == "cpython"


def _start(here):
    import os

    run_dir = os.environ.get("HOLDFAST_RUN_DIR")
    if not run_dir or not _can_be_observed():
        return
    try:
        # A package without an __init__ of its own: the modules of the probe, under a name nobody else has.
        package = type(sys)("_holdfast")
        package.__path__ = [os.path.dirname(os.path.dirname(here))]
        sys.modules["_holdfast"] = package
        from _holdfast.probe.bootstrap import begin

        begin(run_dir, int(os.environ.get("HOLDFAST_ATTEMPT") or 1))
    except Exception:  # the script comes first
        if os.environ.get("HOLDFAST_PROBE_DEBUG"):
            raise


def _chain():
    """Runs the sitecustomize that this one hides, as if it had been found first."""
    if sys.version_info < (3, 5):  # noqa: UP036
        return
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_start(_step_aside())
_chain()
