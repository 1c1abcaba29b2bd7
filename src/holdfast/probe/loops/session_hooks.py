"""Steps of sessions: an Estimator, a MonitoredTrainingSession, a loop of `session.run(train_op)`.

An Estimator trains in a monitored session, whose runs are its steps. In any other session a run is a step when it
asks for an operation that an optimizer added to the graph's collection of training operations.
"""

from __future__ import annotations

from typing import Any

from ...journal.beats import Phase
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.nested_values import leaves
from ..runtime.wrapping import observe
from . import step_outputs

PART = "session_hooks"
_TRAIN_OPERATIONS = "train_op"  # GraphKeys.TRAIN_OP


class SessionSteps:
    def __init__(self, context: ProbeContext) -> None:
        self._loop = context.loop
        self._heartbeat = context.heartbeat
        self._stepped = False
        self._estimators: list[str] = []  # the methods of estimators that are under way, innermost last
        self._in_run = False  # a monitored session runs an ordinary one

    def estimator_begins(self, method: str) -> None:
        self._estimators.append(method)
        self._heartbeat.test_batches = 0

    def estimator_ends(self) -> None:
        del self._estimators[-1:]

    def run_begins(self, session: Any, fetches: Any, *, monitored: bool) -> Any:
        """None where this run is not to be looked at."""
        if self._in_run or (self._estimators and not monitored):
            return None
        method = self._estimators[-1] if self._estimators else ""
        trains = method == "train" if method else _asks_to_train(session, fetches)
        if not trains and method != "evaluate":
            return None
        phase = Phase.VALIDATION if not trains else Phase.STEP if self._stepped else Phase.FILL
        if not self._loop.session_begins(phase):
            return None
        self._in_run = True
        return fetches, trains

    def run_ends(self, token: Any, result: Any) -> None:
        if token is None:
            return
        self._in_run = False
        fetches, trains = token
        if trains:
            self._stepped = True
            self._loop.session_stepped(_logs(fetches, result))
        else:
            self._heartbeat.test_batches += 1
            self._heartbeat.set_phase(Phase.VALIDATION)

    def run_failed(self, token: Any, error: BaseException) -> None:
        if token is not None:
            self._in_run = False


def _asks_to_train(session: Any, fetches: Any) -> bool:
    training = session.graph.get_collection(_TRAIN_OPERATIONS)
    return bool(training) and any(leaf is one for leaf in leaves(fetches) for one in training)


def _logs(fetches: Any, result: Any) -> dict[str, Any]:
    """The scalars that came back, by the names of the tensors; a single one is the loss."""
    asked = leaves(fetches)
    given = _values(result)
    if len(asked) != len(given):
        return {}
    named = {str(getattr(leaf, "name", "")): value for leaf, value in zip(asked, given)}
    scalars = step_outputs.by_name(step_outputs.Returned([], {}), named)
    return {"loss": next(iter(scalars.values()))} if len(scalars) == 1 else scalars


def _values(result: Any) -> list[Any]:
    """As `leaves`, but an operation gives None, which counts."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [value for item in result for value in _values(item)]
    return [result]


def hook_session(context: ProbeContext, module: Any) -> None:
    """Of a session that a monitored one runs, the outer run counts."""
    _watch(context, module.BaseSession, monitored=False)


def hook_monitored(context: ProbeContext, module: Any) -> None:
    _watch(context, module._MonitoredSession, monitored=True)


def _watch(context: ProbeContext, kind: Any, *, monitored: bool) -> None:
    steps = context.sessions
    observe(
        context, kind, "run", PART,
        before=lambda args, kwargs: steps.run_begins(
            args[0], args[1] if len(args) > 1 else kwargs.get("fetches"), monitored=monitored
        ),
        after=steps.run_ends,
        failed=steps.run_failed,
    )  # fmt: skip


def hook_estimator(context: ProbeContext, module: Any) -> None:
    for method in ("train", "evaluate"):
        _watch_estimator(context, module.Estimator, method)


def _watch_estimator(context: ProbeContext, kind: Any, method: str) -> None:
    steps = context.sessions
    observe(
        context, kind, method, PART,
        before=lambda args, kwargs: steps.estimator_begins(method),
        after=lambda token, result: steps.estimator_ends(),
        failed=lambda token, error: steps.estimator_ends(),
    )  # fmt: skip


TENSORFLOW_HOOKS = (
    Hook(PART, "tensorflow.python.client.session", hook_session),
    Hook(PART, "tensorflow.python.training.monitored_session", hook_monitored),
    Hook(PART, "tensorflow_estimator.python.estimator.estimator", hook_estimator),
)
