"""What decides whether a model can learn: its output against its loss and its labels, values, weights and gradients."""

from __future__ import annotations

from typing import Any

from .event import Event, Json, field


class LayersSeen(Event):
    """The layers of a model in their order, as they were made."""

    model: str = ""
    # {"name", "kind": "Dense", "activation": "relu", "after": names of the layers whose outputs it takes, "units",
    #  "trainable", "rate": of a dropout, "initializer": of the kernel, "bias_initializer", "penalty": of a regulariser,
    #  "momentum", "where": the user's line that made it}
    layers: list[Json] = field(default_factory=list)
    layers_in_all: int = 0  # those of a very deep model are not all listed


class OutputSeen(Event):
    """What a loss compares with the labels: an output of a compiled model, or what a loop passed to a loss function."""

    # compile | call: a loss function was called by a loop of the user's own | step: by a `train_step` or a
    # `compute_loss` of the user's own, in fit
    by: str = ""
    fit: int | None = None
    model: str = ""
    output: str = ""  # its name, where a model has several
    layer: str = ""  # class of the layer that computes the values
    layer_name: str = ""
    units: int | None = None  # the size of the last axis
    # what the values went through last: softmax, sigmoid, log_softmax, relu, tanh, linear, …; "": not known
    activation: str = ""
    where: str = ""  # the user's line that made the layer, or that called the loss function
    # binary_crossentropy, categorical_crossentropy, sparse_categorical_crossentropy, mean_squared_error, …;
    # of another function, its own name
    loss: str = ""
    own_loss: bool = False  # a function or a class of the user's own
    from_logits: bool | None = None  # as given to the loss; None: the loss has no such choice
    # The framework reads the logits behind a softmax or a sigmoid, so that the loss is the one of the logits.
    reads_behind: bool = False
    loss_where: str = ""  # the user's line that chose the loss
    part: bool = False  # scaled, weighted, or one of several terms: its value is not what is minimised
    # A cross-entropy that the script has written itself, of values that nothing divides by their sum
    written_out: bool = False
    term: str = ""  # under which name the logs have the part of the loss that it is in
    metrics: list[str] = field(default_factory=list)  # as the framework resolved them: binary_accuracy, …
    prediction_shape: Any = None  # with None where it is open
    target_shape: Any = None  # None: not seen


class ValuesSeen(Event):
    """Numbers about inputs, targets or predictions, taken from a sample of rows."""

    role: str = ""  # input | target | prediction
    name: str = ""
    fit: int | None = None
    step: int = 0  # 0: before the first one
    rows: int = 0  # in the sample
    shape: list[int] = field(default_factory=list)  # of one row
    dtype: str = ""
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    std: float | None = None
    median_deviation: float | None = None  # of targets of one number: the mean distance from their median
    finite: bool = True
    whole_numbers: bool = False
    distinct: int | None = None  # different values, counted up to 1,000
    sums_to_one: bool = False  # every row along its last axis
    one_hot: bool = False  # every row has one 1 and else zeros
    # rows by class, most frequent first, at most 20: the ids, or the place of the largest value in a row
    classes: dict[str, int] = field(default_factory=dict)
    class_count: int | None = None
    constant_columns: int | None = None
    columns: int | None = None
    column_scales: list[float] = field(
        default_factory=list
    )  # smallest, middle, largest standard deviation above 0
    rows_differ: bool | None = None
    where: str = ""


class DependenceSeen(Event):
    """Whether rows that are alike have labels that are alike: by the label of the nearest other row; of images, by
    what simple features of some say about the labels of others."""

    fit: int | None = None
    rows: int = 0
    agreement: float = 0.0  # share of rows, or correlation: of continuous targets, and of images
    chance: float = 0.0  # the same with shuffled labels
    of: str = ""  # classes | values | images
    # how much nearer the nearest row is than in rows whose columns are shuffled each by itself: 1 for columns of noise;
    # of images the correlation of neighbouring pixels: 0 for noise
    structure: float | None = None
    # of shuffles of the labels, the share in which some column, or some statistic of a row, goes with them at least as
    # well; None: not looked at
    shuffles_as_related: float | None = None
    # rows that came again in a later batch, and those of them that came with another label
    rows_again: int = 0
    relabelled: int = 0


class ObjectMapsSeen(Event):
    """Targets that are maps with a 1 where an object is: how many there are, and how many at each edge of the map."""

    fit: int | None = None
    step: int = 0  # 0: rows spread over all of the data
    name: str = ""  # of the target
    objects: int = 0
    rows: int = 0
    columns: int = 0
    top: int = 0
    bottom: int = 0
    left: int = 0
    right: int = 0


class DetectionTargetsSeen(Event):
    """The targets of a detector: boxes of four numbers, and classes of boxes, of anchors or of places in a grid."""

    fit: int | None = None
    step: int = 0  # 0: rows spread over all of the data
    batches: int = 1  # that were looked at: after one without an object the next ones are
    where: str = ""
    image: list[int] = field(default_factory=list)  # height and width of the inputs
    boxes: str = ""  # name of the target
    classes: str = ""
    places: int = 0  # in the sample
    box_rows: int = 0  # of these, that are not padding
    columns: list[list[float]] = field(default_factory=list)  # min, max, mean and standard deviation of each
    corners: float | None = (
        None  # share of boxes whose third number is above the first, and fourth above the second
    )
    by_one: float | None = None  # share whose numbers are all up to 1: parts of the image, not pixels
    no_size: float | None = (
        None  # share whose last numbers are too large for a width and a height in the image
    )
    # of x and of y: share whose third number is below the first, and whose box ends before the image begins
    inverted: list[float] = field(default_factory=list)
    outside: list[float] = field(default_factory=list)
    # of a grid of cells with an object each: objects, one_cell, beyond, highest, negative, follows
    cells: dict[str, float] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)  # places by class, most frequent first; -1: no class
    highest_id: int | None = None
    lowest_id: int | None = None
    packed: bool = False  # boxes and ids are columns of one target
    several: bool = False  # classes of several places in a row
    rates: list[float] = field(default_factory=list)  # share of ones in each column of rows of zeros and ones
    with_box: dict[str, int] = field(
        default_factory=dict
    )  # classes of places that have a box, and of those without
    without_box: dict[str, int] = field(default_factory=dict)
    padded: float | None = None  # share of the images whose filled places come before the others


class DetectionAnswersSeen(Event):
    """What a model answers for the classes of each place, beside what is wanted, for some rows of its data."""

    fit: int | None = None
    step: int = 0
    name: str = ""  # of the output
    places: int = 0
    most_frequent: int = 0  # of the classes that are wanted; -1: no class
    wanted: dict[str, int] = field(default_factory=dict)
    answered: dict[str, int] = field(default_factory=dict)  # by the largest number of each place
    highest: float | None = None  # score of an object at any place
    apart: float | None = (
        None  # how often an object has a higher score than a place without one: 0.5 by chance
    )
    # of a target that has the ids beside the boxes: share of objects by id that the model tells from places without one
    found_by_id: dict[str, float] = field(default_factory=dict)


class SettingDoubted(Event):
    """A setting of a recipe with which no detector learns, whatever the data: known before the first step."""

    rule: str = (
        ""  # random-backbone-frozen, too-few-updates, weights-cannot-move, …: the finding of `holdfast check`
    )
    setting: str = ""  # train.learning_rate
    value: Any = None
    text: str = ""  # what follows from it
    change: str = ""


class AnchorsCompared(Event):
    """How many boxes of the training data the best anchor overlaps by less than half, in the input; of a sample."""

    boxes: int = 0
    uncovered: int = 0
    by_class: dict[str, float] = field(default_factory=dict)  # shares, the largest first, at most 20
    median_side: float = 0.0  # in pixels, of those that are not covered
    input: int = 0
    fitted: bool = False  # to this data


class ClassesUnlearned(Event):
    """Classes with boxes in the validation data and none in the training data."""

    boxes: dict[str, int] = field(default_factory=dict)  # for validation, of each
    of: int = 0  # boxes for validation, of all classes


class ValidationAnswersSeen(Event):
    """What a detector answers for some of its validation images: its best detections, as many as there are objects."""

    step: int = 0
    images: int = 0
    objects: int = 0
    located: float = (
        0.0  # share of the objects that one of these detections overlaps by half, of whatever class
    )
    right: float | None = None  # of those, the share whose detection has the right class
    by_chance: float = 0.0  # share of the most frequent class
    classes: int = 0  # of the objects
    alike: float | None = (
        None  # share of an image's best answers that the next image has too, at the same place
    )
    highest: float = 0.0  # score of all detections


class WeightsMoved(Event):
    """How far the trainable variables have moved, measured on a sample of the values of each."""

    fit: int | None = None
    since: str = ""  # start: of the fit | step: one step
    step: int = 0
    # {"name", "layer", "size", "rms": now, "rms_before", "change": RMS of the difference, "equal_units": all units of
    #  the layer have the same weights, "constant": all values are one value}
    variables: list[Json] = field(default_factory=list)


class NormalisationSeen(Event):
    """The moving averages of batch normalisation at the end of a training, against the batches that it learned from."""

    fit: int | None = None
    step: int = 0
    # {"name", "momentum", "left": share of the averages that is what they began with, "mean_off": from the mean of the
    #  batches, in their standard deviations, "times": the variance against theirs or theirs against it}
    layers: list[Json] = field(default_factory=list)
    evaluated: bool | None = None  # the model was switched to inference; None: not known


class AveragesUnmoved(Event):
    """What a jitted function of JAX that does not train was given last: moving averages that are 0 and 1 as they began,
    though the step computes new ones at each call."""

    step: int = 0  # the newest one then
    names: list[str] = field(default_factory=list)
    where: str = ""  # of the step
    evaluated: str = ""  # the other function


class DropoutSeen(Event):
    """The shares of values that the dropouts of one step of a loop have dropped, from the input on."""

    step: int = 0
    rates: list[float] = field(default_factory=list)
    where: str = ""


class IndexOutOfRange(Event):
    """A jitted step looked up whole numbers that it was given, beyond the end of an axis: JAX raises for none."""

    step: int = 0
    low: int = 0  # of the numbers so far, as they are looked up
    high: int = 0
    size: int = 0  # of the axis
    how: str = ""  # fill: NaN comes back | clip: the last entry | one-hot: zeros
    table: bool = False  # it is a table of weights, and not an output for each class
    beyond: int = 0  # different ids beyond the end, so far
    label: bool = False  # the numbers are what the loss compares with, and no feature
    where: str = ""  # the step


class LayersMeasured(Event):
    """One recorded batch sent through the model: activations and gradients by layer. Its state stays as it is."""

    fit: int | None = None
    step: int = 0
    reason: str = (
        ""  # why it was worth the time: flat | trivial | batch-norm | places | constant-predictions | asked
    )
    rows: int = 0
    seconds: float = 0.0
    # {"name", "kind", "activation", "zero": share of units that are 0 for every row, "saturated": share of values
    #  at a limit of the activation, "spread": mean over units of the standard deviation over rows, "where"}
    activations: list[Json] = field(default_factory=list)
    # {"name", "layer", "norm", "weight_norm"}, in the order of the layers
    gradients: list[Json] = field(default_factory=list)
    loss: float | None = None  # in training mode, with the penalty
    loss_inference: float | None = None  # of the same rows, as the model predicts
    penalty: float | None = None  # the part of the loss that regularisers add
    left_out: str = ""  # why something of it could not be measured


class ExperimentKept(Event):
    """The model's configuration and some rows were stored after a fit that seems to have learned nothing."""

    fit: int | None = None
    rows: int = 0
    left_out: str = ""  # why they were not
