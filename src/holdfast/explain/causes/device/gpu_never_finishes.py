"""The GPU works on one step and does not finish it."""

from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.stacks import silence
from holdfast.explain.rule import (
    Evidence,
    Fact,
    Finding,
    Phase,
    Recorded,
    Remedy,
    Strength,
    Title,
    cause,
    ev,
    facts,
)
from holdfast.user_code import is_user_file

_IN_A_STEP = (Phase.STEP, Phase.BETWEEN)
#: Percent of the time from which a GPU works: a loop on it that asks the host at every turn leaves gaps. Chosen.
_BUSY_PERCENT = 10


@cause("gpu-never-finishes", specialises=("input-blocked", "loader-swallows-errors", "filter-never-passes"))
def gpu_never_finishes(evidence: Evidence) -> Finding | None:
    """The supervisor has seen that the training waits at one point for a GPU that works for it: `on_gpu_s`."""
    stall = evidence.stall
    if (
        stall is None
        or evidence.phase not in _IN_A_STEP
        or not number_of(stall.event.progress.get("on_gpu_s"))
    ):
        return None
    seen = [one for one in evidence.all(ev.SamePointSeen) if one.event.step == stall.event.step]
    if not seen:
        return None
    busy = _busy(evidence, since=stall.mono - stall.event.silent_for_s)
    last, jax = seen[-1], evidence.backend == "jax"
    return Finding(
        Strength.supported_if(busy is not None),
        Title("gpu-never-finishes", {"where": last.event.where}),
        facts(
            silence(evidence),
            busy,
            last.fact(
                "gpu.same-point", where=last.event.where, inside=_inside(last), seconds=last.event.for_s
            ),
            last.event.result == "pending" and last.fact("gpu.result-pending", step=last.event.step),
        ),
        (Remedy("gpu.bound-loops", {"jax": jax}), Remedy("gpu.find-the-kernel", safety="guess")),
    )


def _inside(seen: Recorded[ev.SamePointSeen]) -> str:
    """The function of the framework in which it waits."""
    place, _, function = (seen.event.frames or [""])[0].rpartition(" ")
    file = place.rpartition(":")[0]
    library = file and not is_user_file(file) and "holdfast/probe/" not in file
    return function if library else ""


def _busy(evidence: Evidence, *, since: float) -> Fact | None:
    """How busy the busiest GPU was at each reading after the last step; None where one found it nearly idle."""
    read = [(line, _percent(sample.gpus)) for line, sample in evidence.samples if sample.mono >= since]
    # The first readings may be of the time before: GPUs are read every few seconds.
    found = [(line, percent) for line, percent in read if percent is not None]
    found = found[len(found) // 2 :]
    if not found or min(percent for _, percent in found) < _BUSY_PERCENT:
        return None
    values = {"least": min(percent for _, percent in found)}
    return Fact("gpu.busy-since-step", values, f"vitals.jsonl:{found[0][0]}-{found[-1][0]}")


def _percent(gpus: list[dict[str, object]]) -> int | None:
    shares = [number_of(gpu.get("utilisation")) for gpu in gpus]
    return max((int(share) for share in shares if share is not None), default=None)
