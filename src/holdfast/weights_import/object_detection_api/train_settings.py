"""The data and the training of a pipeline.config as settings of a recipe."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.data.formats import label_map
from holdfast.errors import HoldfastError
from holdfast.regular_file import read_bytes
from holdfast.weights_import.object_detection_api.config_sections import Section

_FLIPS_AND_COLOURS = (
    "random_horizontal_flip", "random_adjust_brightness", "random_adjust_contrast", "random_adjust_hue",
    "random_adjust_saturation", "random_distort_color", "random_image_scale",
)  # fmt: skip
_DROPS = (2 / 3, 8 / 9)  # where the schedule "steps" divides the learning rate


@dataclass
class RecipeSettings:
    """Values by the name of the setting, "data.train" and so on, and a remark on some of them."""

    values: dict[str, object] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    fine_tune_checkpoint: str = ""


def data_settings(config: Section, folder: Path, classes: int) -> tuple[dict[str, object], tuple[str, ...]]:
    """Where the data is, and the names of the classes, one for each number that the model knows."""
    values: dict[str, object] = {}
    maps = []
    for name, setting in (("train_input_reader", "data.train"), ("eval_input_reader", "data.validation")):
        readers = config.sections(name)
        for reader in readers[1:]:
            for one in reader.leaves():
                reader.dropped(one.name, "a recipe has one set of training data and one for validation")
        if not readers:
            continue
        records = readers[0].section("tf_record_input_reader")
        paths = records.texts("input_path")
        if paths:
            values[setting] = _near(paths[0], folder)
        if len(paths) > 1:
            records.ledger.add(
                records.message.all("input_path")[1],
                "input_path",
                "a recipe has one path; a glob may name them all",
                True,
            )
        maps += [readers[0].text("label_map_path")] if readers[0].has("label_map_path") else []
    names = _class_names(maps, folder, classes, config)
    return values, names


def _near(path: str, folder: Path) -> str:
    """As it is, if it is there or absolute; else beside the configuration, if it is there."""
    if Path(path).is_absolute() or os.path.exists(path) or not _exists(folder / path):
        return path
    return str(folder / path)


def _exists(path: Path) -> bool:
    """False for what is no path at all, too."""
    try:
        return os.path.exists(path) or (os.path.isdir(path.parent) and any(path.parent.glob(path.name)))
    except (OSError, ValueError, NotImplementedError, IndexError):
        return False


def _class_names(maps: list[str], folder: Path, classes: int, config: Section) -> tuple[str, ...]:
    """The label map's names; a number that it leaves out has a name that no data has."""
    labels: tuple[label_map.Label, ...] = ()
    for path in maps:
        file = Path(_near(path, folder))
        if os.path.isfile(file):
            labels = label_map.read(read_bytes(file, most=label_map.LARGEST_BYTES), str(file))
            break
    by_id = {one.id: one.name for one in labels}
    if labels and (max(by_id) > classes or min(by_id) < 1):
        raise HoldfastError(
            "the label map does not belong to this configuration",
            where=config.ledger.where,
            found=f"ids from {min(by_id)} to {max(by_id)}, and num_classes is {classes}",
            change="ids go from 1 to num_classes; 0 is the background",
        )
    if not labels:
        reader = config.section("train_input_reader")
        reader.dropped(
            "label_map_path",
            "the file is not there: classes are called class-1, class-2 … until `data.classes` names them",
        )
    missing = "class" if not labels else "unused"
    return tuple(by_id.get(number, f"{missing}-{number}") for number in range(1, classes + 1))


def train_settings(train: Section) -> RecipeSettings:
    found = RecipeSettings()
    values = found.values
    values["train.steps"] = max(1, train.whole("num_steps", 0)) if train.has("num_steps") else 2000
    if train.has("num_steps") and train.whole("num_steps", 0) == 0:
        found.remarks["train.steps"] = "the configuration trains without end"
    values["train.batch"] = train.whole("batch_size", 32)
    if train.number("gradient_clipping_by_norm", 0.0) > 0:
        values["train.clip_norm"] = train.number("gradient_clipping_by_norm", 0.0)
    values["train.augment"] = _augmentation(train)
    values["data.augment"] = values.pop("train.augment")
    _optimizer(train.section("optimizer"), found)
    _fine_tuning(train, found)
    return found


def _augmentation(train: Section) -> str:
    options = train.sections("data_augmentation_options")
    known = False
    for option in options:
        for one in list(option.leaves()):
            if one.name in _FLIPS_AND_COLOURS:
                known = True
                option.section(one.name)
                option.ledger.read.add(id(one))
                _amounts(option, one.name)
            else:
                option.dropped(
                    one.name,
                    '`data.augment = "light"` scales images and does not crop; "strong" crops, and mixes images',
                )
    return "light" if known else "none"


def _amounts(option: Section, name: str) -> None:
    inner = option.section(name)
    for one in inner.leaves():
        if id(one) not in inner.ledger.read:
            inner.dropped(one.name, "`data.augment` has amounts of its own")


# -- optimizer and schedule -----------------------------------------------------------------------


def _optimizer(optimizer: Section, found: RecipeSettings) -> None:
    kinds = ("momentum_optimizer", "adam_optimizer", "rms_prop_optimizer")
    kind = next((name for name in kinds if optimizer.has(name)), "")
    inner = optimizer.section(kind or "momentum_optimizer")
    found.values["train.optimizer"] = "sgd" if kind == "momentum_optimizer" else "adamw"
    if kind == "rms_prop_optimizer":
        for name in ("decay", "epsilon", "momentum_optimizer_value"):
            inner.dropped(
                name, "RMSProp is no optimizer of Holdfast: the recipe has adamw, find its rate with lr-find"
            )
    elif kind == "adam_optimizer":
        if inner.number("epsilon", 1e-7) != 1e-7:
            inner.dropped("epsilon", "Adam's epsilon is 1e-7 here")
    elif inner.number("momentum_optimizer_value", 0.9) != 0.9:
        inner.dropped("momentum_optimizer_value", "the momentum of sgd is 0.9 here")
    if optimizer.flag("use_moving_average", True):
        found.values["train.ema"] = optimizer.number("moving_average_decay", 0.9999)
    _schedule(inner.section("learning_rate"), found)


def _schedule(rate: Section, found: RecipeSettings) -> None:
    values = found.values
    kind = next((one.name for one in rate.leaves()), "")
    inner = rate.section(kind) if kind else rate
    if kind == "cosine_decay_learning_rate":
        values |= {
            "train.schedule": "cosine", "train.learning_rate": inner.number("learning_rate_base", 0.002),
            "train.warmup_steps": inner.whole("warmup_steps", 10_000),
        }  # fmt: skip
        if inner.whole("total_steps", 4_000_000) != values["train.steps"]:
            inner.dropped("total_steps", "the cosine ends with the training, at `train.steps`")
        if inner.number("warmup_learning_rate", 0.0):
            inner.dropped("warmup_learning_rate", "the warmup starts near 0 here")
    elif kind == "manual_step_learning_rate":
        _manual_steps(inner, found)
    elif kind == "constant_learning_rate":
        values |= {"train.schedule": "constant", "train.learning_rate": inner.number("learning_rate", 0.002)}
        values["train.warmup_steps"] = 0
    elif kind == "exponential_decay_learning_rate":
        values |= {
            "train.schedule": "cosine",
            "train.learning_rate": inner.number("initial_learning_rate", 0.002),
        }
        for one in list(inner.leaves()):
            if one.name != "initial_learning_rate":
                inner.dropped(
                    one.name, "there is no exponential schedule: the recipe has the cosine from the same rate"
                )
    elif kind:
        rate.dropped(kind, "no such schedule is known")
    if float(str(values.get("train.learning_rate", 0.0))) <= 0:
        values["train.learning_rate"] = 1e-3
        found.remarks["train.learning_rate"] = "the configuration names none"


def _manual_steps(inner: Section, found: RecipeSettings) -> None:
    values = found.values
    values |= {"train.schedule": "steps", "train.learning_rate": inner.number("initial_learning_rate", 0.002)}
    values["train.warmup_steps"] = 0
    schedule = inner.sections("schedule")
    steps = float(str(values["train.steps"]))
    wanted = [(one.number("step", 0) / steps, one.number("learning_rate", 0.0)) for one in schedule]
    rate = float(str(values["train.learning_rate"]))
    ours = [(share, rate * 0.1 ** (index + 1)) for index, share in enumerate(_DROPS)]
    near = len(wanted) == len(ours) and all(
        abs(a[0] - b[0]) < 0.02 and abs(a[1] - b[1]) < 1e-3 * rate for a, b in zip(wanted, ours, strict=True)
    )
    if not near:
        inner.dropped(
            "schedule",
            "the schedule of steps divides the learning rate by ten at 2/3 and at 8/9 of the training",
        )
    inner.dropped("warmup", "set `train.warmup_steps`")


def _fine_tuning(train: Section, found: RecipeSettings) -> None:
    """What its training started from. A detection checkpoint is what `--checkpoint` would be given."""
    kind = train.text("fine_tune_checkpoint_type")
    whole = train.flag("from_detection_checkpoint", False) or kind in ("detection", "full", "fine_tune")
    path = train.text("fine_tune_checkpoint")
    if path and whole:
        found.fine_tune_checkpoint = path
    elif path:
        train.dropped(
            "fine_tune_checkpoint",
            "it holds a classifier, of which the API takes the backbone; give --checkpoint a trained detector, or set "
            "`model.weights`",
        )
