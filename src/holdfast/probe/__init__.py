"""What is injected into a user's Python process: it writes down what training does and changes nothing of it.

Loaded by `inject/sitecustomize.py` under the name ``_holdfast``, so that a process may have a `holdfast`
of its own, of another version or none. Hence two rules for every module here and for `journal`: relative
imports only, and the standard library only, except for what the user's process has imported already.

`holdfast.probe.activate(run_dir)` does the same in a process that runs already (`holdfast.watch`).
"""


def activate(run_dir, attempt=1):  # type: ignore[no-untyped-def]  # `typing` would cost every Python process of a run
    """Starts the probe in this process. True when it is at work, False when another one is already."""
    from .bootstrap import begin, catch_up

    if not begin(str(run_dir), int(attempt), role="main"):
        return False
    catch_up()
    return True


def deactivate():  # type: ignore[no-untyped-def]
    """Closes the records; hooks stay in place and do nothing."""
    from .bootstrap import end

    end()
