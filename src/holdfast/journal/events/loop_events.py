"""Training loops of the user's own, without `fit`."""

from __future__ import annotations

from .event import Event, Json, field


class LoopSeen(Event):
    """Training without `fit`: a tf.function, GradientTape or train_on_batch loop was recognised."""

    # apply_gradients | train_on_batch | dataset_iterator | tf_function | torch_optimizer | jax | session | by_hand
    by: str = ""
    where: str = ""


class PairedLoadersSeen(Event):
    """Two loaders of torch are drawn from in turn, over as many rows each, and each has a random order of its own."""

    rows: int = 0
    shared_generator: bool = False  # one generator makes both orders, one after the other
    where: str = ""


class SamePointSeen(Event):
    """The thread that trains has been at one point, with the same variables, while no step was done. Written every few
    seconds, in a process that has opened a GPU."""

    step: int = 0  # steps done
    for_s: float = 0.0
    where: str = ""  # the innermost line of the user's own
    frames: list[str] = field(default_factory=list)  # "file:line function", innermost first
    # of the newest step of a loop on JAX: pending | ready | unknown; "" elsewhere
    result: str = ""


class ScalerSeen(Event):
    """How often torch's GradScaler was asked for a step, and left it out because gradients were not finite."""

    steps: int = 0  # asked for
    skipped: int = 0
    in_a_row: int = 0  # the newest ones
    longest: int = 0  # of those in a row
    scale: float | None = None
    half: bool | None = (
        None  # whether operations below the loss returned float16; looked at when steps are left out
    )
    loss_finite: bool | None = None  # the newest one, as the script computes it
    unscaled: bool = False  # the script divides gradients by the scale itself, as before clipping
    norms: list[float] = field(
        default_factory=list
    )  # of gradients that are still scaled, at the start of some steps
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
    """A loop over the data has no break: it ends when the data does."""

    where: str = ""
    role: str = "train"  # train: it is inside another loop | validation: no step was done in it


class GradientsNotApplied(Event):
    """Gradients were computed many times, no optimizer took a step, and the weights are unchanged at the end."""

    where: str = ""  # where they are computed
    times: int = 0
    optimizer: str = ""  # class
    optimizer_where: str = ""  # the line that made it


class StepsWithoutGradients(Event):
    """An optimizer took steps, and at each that was looked at none of its parameters had a gradient."""

    steps: int = 0
    where: str = ""  # the step
    reached: bool = False  # a backward pass had left gradients there, and they were cleared before the step
    taken_where: str = ""  # the backward pass
    optimizer: str = ""  # class
    optimizer_where: str = ""  # the line that made it
    frozen: int | None = None  # values of its parameters, where none of them may be changed; 0: it has none


class WeightsLeftAlone(Event):
    """A jitted step whose new weights do not depend on what it is given to train on, by the program that JAX traced."""

    where: str = ""  # the step
    returned: bool = (
        False  # it returns the very weights that it was given, though something else follows the data
    )
    weights: int = 0  # arrays


class GradientsOfNothing(Event):
    """A GradientTape was asked for gradients with respect to an empty list, again and again, and nothing else was."""

    where: str = ""
    times: int = 0


class GradientsKept(Event):
    """The gradients of a step were still there at every backward pass before the next step: they add up."""

    steps: int = 0
    where: str = ""  # the step
    optimizer: str = ""


class UpdatesCounted(Event):
    """A loop of the user's own computed gradients more often than its optimizers changed the weights."""

    passes: int = 0  # that computed gradients
    updates: int = 0
    data_passes: int = 0  # iterators over data that the batches came from
    each: int | None = None  # gradients that the optimizer adds up by itself before an update
    first: float | None = (
        None  # loss, as it was differentiated: the mean of the first passes, and of the newest
    )
    newest: float | None = None
    where: str = ""  # the update, or the line that made the optimizer


class LoopPlanned(Event):
    """How often the loops around the first step run, by their bounds as the script has them."""

    # from the outermost: {"where", "kind": "range" | "while" | "data", "bound": as written,
    #  "count": rounds, None: not known}
    loops: list[Json] = field(default_factory=list)
    steps: int | None = None  # the product, where every count is known


class DataRanOut(Event):
    """An iterator ended inside a loop that had more rounds to go, and no step was done after that."""

    where: str = ""  # where it was asked
    iterator: str = ""  # what it is
    step: int = 0  # done in all
    planned: int | None = None  # rounds of that loop
    bound: str = ""  # as written
    rounds_left: bool = True
    one_shot: bool = False  # a loop over it is inside another loop: later rounds find nothing in it


class LoopSkipped(Event):
    """A loop that trains had no round to do: its counter was at its bound before it began."""

    where: str = ""
    counter: str = ""  # as written
    first: int = 0
    bound: str = ""
    goal: int = 0
