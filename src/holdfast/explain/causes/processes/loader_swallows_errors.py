"""Your generator is busy and yields nothing."""

from __future__ import annotations

from holdfast.explain.readings.stacks import ThreadState, silence, stalled_thread
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause, ev

_NOT_LOADING = (Phase.CALLBACK, Phase.EXIT, Phase.AFTER, Phase.START, Phase.IMPORT, Phase.BUILD)
_LOADER = ("script_ops.py", "generator_data_adapter", "py_dataset_adapter")
#: Inside a training step, or a trace of it.
_TRAINING = (
    "one_step_on_data",
    "train_step",
    "autograph",
    "func_graph",
    "tracing_compilation",
    "jax/_src/interpreters",
    "pxla",
)


@cause("loader-swallows-errors", specialises=("input-blocked",))
def loader_swallows_errors(evidence: Evidence) -> Finding | None:
    if evidence.phase in _NOT_LOADING:
        return None
    loader = stalled_thread(evidence, _loads)
    if loader is None:
        return None
    return Finding(
        Strength.SUPPORTED,
        Title("loader-swallows-errors", {"where": loader.thread.where}),
        because=[loader.busy_fact, *silence(evidence), *_swallowed(evidence)],
        remedies=[Remedy("loader.raise-errors"), Remedy("loader.look-for-an-endless-wait", safety="guess")],
    )


def _loads(thread: ThreadState) -> bool:
    """It computes in the user's own code, and not in a training step."""
    if not thread.busy or thread.users is None:
        return False
    return thread.within(*_LOADER) is not None or thread.within(*_TRAINING) is None


def _swallowed(evidence: Evidence) -> list[Fact]:
    return [
        Fact(
            "error.swallowed",
            {"error": one.event.type, "where": one.event.user_line, "message": one.event.message},
            one.source,
        )
        for one in evidence.all(ev.ExceptionRaised)
        if one.event.left in ("loader", "thread") or one.event.caught
    ][-1:]
