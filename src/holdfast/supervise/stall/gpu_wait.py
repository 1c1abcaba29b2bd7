"""Does the training wait for one call on a GPU, and for how long may it? Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from holdfast.journal.beats import Beat
from holdfast.journal.events import SamePointSeen
from holdfast.supervise.stack_capture.stack_phase import COMPILERS
from holdfast.supervise.stall.activity import LastActivity
from holdfast.supervise.stall.phase_limits import LIMIT_FACTOR, STEPPING, PhaseGroup, RunDurations, limit_of
from holdfast.user_code import is_user_file

_FLOOR_S = 17.0  # half a minute is promised; GPUs are read every five seconds
#: A host that does not wait for the GPU starts many steps ahead, JAX up to 32, and then waits for all of them at once.
_AHEAD = 40
_PACE_KNOWN_S, _FLOOR_BEFORE_S = 15.0, 90.0
#: The same after many more steps than a host can be ahead, however fast they were.
_MANY_STEPS, _FLOOR_AFTER_MANY_S = 3 * _AHEAD, 30.0
_GPU_READ_S = 7.0
_STEPS_KNOWN = 3  # before them the longest step says nothing
#: The process reports every four seconds that it is at the same point.
_REPORTED_S = 8.0
#: Files from which a framework waits for a GPU. From the standard library one waits for threads and children, and from
#: these parts of torch for data and for other processes.
_WAITS_INSIDE = re.compile(
    r"(^|/)(jax|jaxlib|keras|tf_keras|tensorflow|triton|flax|optax|holdfast/probe|"
    r"torch(?!/(utils/data|distributed|multiprocessing)/))/"
)


class SamePoint(NamedTuple):
    """Where the thread that trains stays, as the process itself last reported."""

    seen: SamePointSeen = SamePointSeen()
    mono: float = float("-inf")  # when that was reported


NOWHERE = SamePoint()


def waits_for_gpu(
    point: SamePoint,
    beat: Beat | None,
    group: PhaseGroup,
    *,
    steps_known: int,
    last_activity: LastActivity,
    now: float,
) -> bool:
    """A GPU has worked for this run since the last step, or on JAX the newest step is not done, and the thread that
    trains has been at one point meanwhile: in the user's line or in a framework, and not in its compiler. JAX may do
    anything in one call, a whole evaluation too: there the newest step must be the call that is not done."""
    seen = point.seen
    if beat is None or group not in STEPPING or steps_known < _STEPS_KNOWN or beat.step != seen.step:
        return False
    fresh = now - point.mono < _REPORTED_S <= seen.for_s
    worked = last_activity.gpu_idle - last_activity.beat < _GPU_READ_S
    # On a GPU that others use too, the share of this run may read as nothing: then a result that is pending shows it.
    computes = seen.result == "pending" or (worked and not seen.result)
    return fresh and computes and _may_wait_for_gpu(seen.frames)


def gpu_limit_s(durations: RunDurations, configured_s: float | None) -> float:
    """Six times the longest normal step, three times the longest silence between steps, or forty steps at the pace so
    far. How long a compilation took does not matter: it does not compile. In the first seconds the pace may be that of
    a host that runs ahead."""
    if configured_s is not None:
        return configured_s
    step = limit_of(PhaseGroup.STEP, replace(durations, longest_compile_s=0.0))
    silent_s = max(durations.longest_s.get(group, 0.0) for group in STEPPING)
    paused_s = max(durations.busy_pause_s.values(), default=0.0)
    floor_s = _FLOOR_AFTER_MANY_S if durations.steps >= _MANY_STEPS else _FLOOR_BEFORE_S
    if durations.stepping_for_s >= _PACE_KNOWN_S:
        floor_s = _FLOOR_S
    return max(
        floor_s, _AHEAD * durations.mean_step_s, 2 * step.idle_s, LIMIT_FACTOR * max(silent_s, paused_s)
    )


def _may_wait_for_gpu(frames: Sequence[str]) -> bool:
    """`frames`: "file:line function", innermost first."""
    places = [
        (place.rpartition(":")[0], function) for place, _, function in (one.rpartition(" ") for one in frames)
    ]
    compiles = any(
        mark in file and function.startswith(names) for file, function in places for mark, names in COMPILERS
    )
    innermost = places[0][0] if places else ""
    return not compiles and (is_user_file(innermost) or _WAITS_INSIDE.search(innermost) is not None)
