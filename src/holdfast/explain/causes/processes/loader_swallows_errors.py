"""Your generator is busy and yields nothing."""

from holdfast.explain.readings.stacks import ThreadState, silence, stalled_thread
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause, ev

_NOT_LOADING = (Phase.CALLBACK, Phase.EXIT, Phase.AFTER, Phase.START, Phase.IMPORT, Phase.BUILD)
_LOADER = ("script_ops.py", "generator_data_adapter", "py_dataset_adapter")
#: Inside a training step, or a trace of it.
_STEP = ("one_step_on_data", "train_step")
_TRACE = ("autograph", "func_graph", "tracing_compilation", "jax/_src/interpreters", "pxla")


@cause("loader-swallows-errors", specialises=("input-blocked",))
def loader_swallows_errors(evidence: Evidence) -> Finding | None:
    loader = stalled_thread(evidence, _loads)
    if loader is None or evidence.phase in _NOT_LOADING:
        return None
    facts = [loader.busy_fact, *silence(evidence), *_swallowed(evidence)]
    title = Title("loader-swallows-errors", {"where": loader.thread.where})
    remedies = [Remedy("loader.raise-errors"), Remedy("loader.look-for-an-endless-wait", safety="guess")]
    return Finding(Strength.SUPPORTED, title, facts, remedies)


def _loads(thread: ThreadState) -> bool:
    """It computes in the user's own code, and not in a training step."""
    if not thread.busy or thread.users is None:
        return False
    return thread.within(*_LOADER) is not None or thread.within(*_STEP, *_TRACE) is None


def _swallowed(evidence: Evidence) -> list[Fact]:
    for one in reversed(evidence.all(ev.ExceptionRaised)):
        event = one.event
        if event.left in ("loader", "thread") or event.caught:
            values = {"error": event.type, "where": event.user_line, "message": event.message}
            return [one.fact("error.swallowed", **values)]
    return []
