"""Training loops of the user's own, without `fit`."""

from __future__ import annotations

from .event import Event, field


class LoopSeen(Event):
    """Training without `fit`: a tf.function, GradientTape or train_on_batch loop was recognised."""

    by: str = ""  # apply_gradients | train_on_batch | dataset_iterator | tf_function
    where: str = ""


class PassDone(Event):
    """A loop of the user's own started its dataset again: how the pass before went."""

    number: int = 0  # among those written
    steps: int = 0
    duration_s: float = 0.0  # from asking for its first batch to the end of its last step
    first_step_s: float = 0.0  # from there to the end of its first step


class OpenLoopSeen(Event):
    """Training runs inside a `while` that has no counter and no clock: only values computed in it can end it."""

    where: str = ""
    until: list[str] = field(default_factory=list)  # its conditions as written: "while `loss > 0.1`"


class DataOnlyLoopSeen(Event):
    """A loop over the data, inside another loop, has no break: it ends when the data does."""

    where: str = ""


class GradientsNotApplied(Event):
    """Gradients were computed many times, no optimizer took a step, and the weights are unchanged at the end."""

    where: str = ""  # where they are computed
    times: int = 0
    optimizer: str = ""  # class
    optimizer_where: str = ""  # the line that made it
