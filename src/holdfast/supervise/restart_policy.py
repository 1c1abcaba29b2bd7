"""Whether a command that failed is started again. Pure.

A restart helps where a failure was an accident, or where the script resumes by itself and so gets further each
time. When the same failure comes back and nothing was gained in between, another try would only repeat it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.journal.events import StoppedBy

_FIRST_PAUSE_S = 1.0
_PAUSE_GROWS = 4.0
_LONGEST_PAUSE_S = 60.0

#: Ends that the user or a scheduler requested.
_REQUESTED_ENDS = frozenset({"interrupt", "terminate", "hangup"})


@dataclass(frozen=True, slots=True)
class AttemptFailure:
    """How one attempt ended, and how far it got."""

    exit_code: int | None
    signal: str | None
    stopped_by_us: StoppedBy = ""
    exception: str = ""  # "ValueError at train.py:41"
    stalled_in: str = ""  # the phase
    reached: int | None = None  # steps in all, those before a resume included; None: no training was seen
    saves: int = 0
    configuration: str = ""  # where it can differ between attempts: "micro-batches of 4"

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """Two failures with equal fingerprints count as the same."""
        if self.stopped_by_us == "stall":
            return ("stall", self.stalled_in)
        if self.exception:
            return ("exception", self.exception, self.configuration)
        ended = ("signal", self.signal) if self.signal is not None else ("exit", str(self.exit_code))
        # Killed for its memory, our trainer restarts with smaller micro-batches: that is another failure.
        return (*ended, self.configuration)

    @property
    def description(self) -> str:
        if self.stopped_by_us == "stall":
            return f"it stalled in phase {self.stalled_in}" if self.stalled_in else "it stalled"
        ended = (
            f"it was ended by {self.signal}" if self.signal else f"it ended with exit code {self.exit_code}"
        )
        return f"{ended} ({self.exception})" if self.exception else ended


@dataclass(frozen=True, slots=True)
class RestartAfter:
    pause_s: float
    why: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    why: str  # empty where there is nothing to report: the command succeeded, or no restart was configured


def decide(failures: Sequence[AttemptFailure], *, allowed: int) -> RestartAfter | GiveUp:
    """`failures` are the attempts so far, the last one just ended."""
    last = failures[-1]
    if last.exit_code == 0 and last.stopped_by_us != "stall":
        return GiveUp("")
    if last.stopped_by_us in _REQUESTED_ENDS or allowed == 0:
        return GiveUp("")
    if len(failures) > allowed:
        return GiveUp(f"{last.description}; all {allowed} restarts are used")
    repeated = _repeated_failure(failures)
    if repeated:
        return GiveUp(repeated)
    pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * _PAUSE_GROWS ** (len(failures) - 1))
    return RestartAfter(pause_s, f"{last.description}{_at(last)}")


def _repeated_failure(failures: Sequence[AttemptFailure]) -> str:
    """Why another attempt would be useless, or nothing."""
    last = failures[-1]
    same = [failure for failure in failures[:-1] if failure.fingerprint == last.fingerprint]
    if not same:
        return ""
    before = same[-1]
    if last.reached is None or before.reached is None:
        return f"{last.description} again, and no training was seen in between"
    if last.reached > before.reached:
        return ""
    hint = (
        "the script starts from the beginning each time"
        if not last.saves
        else "it does not get past that point"
    )
    return f"{last.description} again{_at(last)}, no further than before ({before.reached} steps): {hint}"


def _at(failure: AttemptFailure) -> str:
    return "" if failure.reached is None else f" after {failure.reached} steps"
