"""`holdfast import pipeline.config`: a recipe, and a model file where the architecture is one of ours."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path

from holdfast import atomic_write
from holdfast.detectors.model_paths import MODEL_NAME
from holdfast.errors import AlreadyThere, ExitCode, HoldfastError
from holdfast.weights_import.object_detection_api.checkpoint_path import find_checkpoint
from holdfast.weights_import.object_detection_api.config_sections import ConfigLine, Ledger, Section
from holdfast.weights_import.object_detection_api.image_size import ImageSize, image_size
from holdfast.weights_import.object_detection_api.import_report import RECIPE_NAME, as_text, recipe_text
from holdfast.weights_import.object_detection_api.model_settings import model_settings
from holdfast.weights_import.object_detection_api.network_parts import ModelSettings, NotOurs
from holdfast.weights_import.object_detection_api.text_format import (
    LARGEST_BYTES,
    Message,
    NotAPipelineConfig,
    parse,
)
from holdfast.weights_import.object_detection_api.train_settings import (
    RecipeSettings,
    data_settings,
    train_settings,
)


@dataclass(frozen=True)
class ImportedConfig:
    """Everything that a pipeline.config says, in Holdfast's terms. `model` is None where the network is not ours."""

    model: ModelSettings | None
    why_not: str
    classes: tuple[str, ...]
    recipe: RecipeSettings
    lines: list[ConfigLine]

    @property
    def not_carried_over(self) -> list[ConfigLine]:
        return [line for line in self.lines if line.matters]


def run_import(args: argparse.Namespace) -> int:
    config = read_config(args.file)
    given = args.checkpoint or _own_checkpoint(config, args.file)
    checkpoint = find_checkpoint(given) if given is not None else None
    out: Path = args.out or Path(args.file.stem)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise AlreadyThere(
            "the import would overwrite something", where=out, change="name another folder with --out"
        )
    model = None
    if config.model is not None and checkpoint is not None:
        model = _write_model(config, checkpoint, out)
        config.recipe.values["model.weights"] = model.name  # beside the recipe, where it is looked for
    elif config.model is not None:
        _use_own_backbone(config)
    out.mkdir(parents=True, exist_ok=True)
    recipe = out / RECIPE_NAME
    atomic_write.write_text(recipe, recipe_text(config.recipe, args.file))
    _check_recipe(recipe)
    print(_as_json(config, recipe, model) if args.json else as_text(config, recipe, model, args.file))
    return ExitCode.FINDINGS if config.not_carried_over or config.why_not else ExitCode.FINE


def read_config(path: Path) -> ImportedConfig:
    """The configuration alone; no checkpoint is opened."""
    size = path.stat().st_size
    if size > LARGEST_BYTES:
        raise NotAPipelineConfig(
            f"the file is too large for a pipeline.config: {size} bytes",
            where=path,
            change="give the pipeline.config beside the checkpoint; it is a text of a few KB",
        )
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise NotAPipelineConfig(
            "the file is no text",
            where=path,
            found=str(error),
            change="give a pipeline.config; a model's .pb file has none",
        ) from error
    root = parse(text, path)
    if not root.all("model") and not root.all("train_config"):
        raise NotAPipelineConfig(
            "the file has neither a model nor a train_config",
            where=path,
            found=f"its fields are {', '.join(sorted({one.name for one in root.fields})[:8]) or 'none'}",
            change="give the pipeline.config of the Object Detection API",
        )
    return _interpreted(root, path)


def _interpreted(root: Message, path: Path) -> ImportedConfig:
    ledger = Ledger(path)
    config = Section(root, "", ledger)
    model, why_not = None, ""
    try:
        model = model_settings(config.section("model"))
    except NotOurs as error:
        why_not = str(error)
        _drop_model(config, ledger, error)
    recipe = train_settings(config.section("train_config"))
    count = model.classes if model else _classes_of_any(config)
    data, classes = data_settings(config, path.parent, count)
    recipe.values = {**data, "data.classes": list(classes), **_model_values(model, config), **recipe.values}
    if model is not None and model.weight_decay:
        momentum = 10.0 if recipe.values["train.optimizer"] == "sgd" else 1.0
        recipe.values["train.weight_decay"] = min(model.weight_decay * momentum, 1.0)
        recipe.remarks["train.weight_decay"] = (
            f"the L2 regularizer's {model.weight_decay:g}, decoupled: momentum adds it up ten times"
            if momentum > 1
            else f"the L2 regularizer's {model.weight_decay:g}, decoupled"
        )
    ledger.finish(root)
    return ImportedConfig(model, why_not, classes, recipe, ledger.lines)


def _model_values(model: ModelSettings | None, config: Section) -> dict[str, object]:
    if model is not None:
        return {
            "model.detector": model.detector,
            "model.backbone": model.backbone,
            "model.input": model.size.side,
        }
    size = _size_of_any(config)
    return {"model.detector": "ssd", "model.backbone": "mobilenet_v2", "model.input": min(size.side, 4096)}


def _use_own_backbone(config: ImportedConfig) -> None:
    """Without weights the recipe trains Holdfast's own detector, which has fewer backbones."""
    from holdfast.detectors.spec import BACKBONES

    values = config.recipe.values
    own = BACKBONES[str(values["model.detector"])]
    if values["model.backbone"] not in own:
        config.recipe.remarks["model.backbone"] = f"{values['model.backbone']} needs a checkpoint"
        values["model.backbone"] = own[0]


def _drop_model(config: Section, ledger: Ledger, error: NotOurs) -> None:
    """The whole model is one line of the report, at the field that Holdfast does not have."""
    for one in config.message.all("model"):
        ledger.add(one, "model", str(error), True)
        ledger.lines[-1] = ConfigLine(error.line or one.line, "model", "{ … }", str(error), True)


def _inner_of_any(config: Section) -> Section:
    model = Section(config.section("model").message, "model", Ledger(config.ledger.where))
    return model.section(next((one.name for one in model.leaves()), "ssd"))


def _classes_of_any(config: Section) -> int:
    inner = _inner_of_any(config)
    return min(max(1, inner.whole("num_classes", 1)), 100_000)


def _size_of_any(config: Section) -> ImageSize:
    return image_size(_inner_of_any(config).section("image_resizer"))


def _own_checkpoint(config: ImportedConfig, path: Path) -> Path | None:
    """The detector that the configuration fine-tunes, if its file is there."""
    name = config.recipe.fine_tune_checkpoint
    for found in (Path(name), path.parent / name) if name else ():
        if found.name and os.path.isfile(found.with_name(f"{found.name}.index")):
            return found
    return None


def _write_model(config: ImportedConfig, checkpoint: Path, out: Path) -> Path:
    from holdfast.detectors import model_file
    from holdfast.detectors.build import build
    from holdfast.detectors.spec import DetectorSpec
    from holdfast.weights_import.object_detection_api.load_checkpoint import load

    settings = config.model
    if settings is None:
        raise AssertionError("asked to write a model that is not ours")
    spec = DetectorSpec(
        settings.detector, settings.backbone, config.classes, (settings.size.height, settings.size.width),
        variant="object-detection-api", options=settings.options,
    )  # fmt: skip
    detector = build(spec)
    load(detector, checkpoint)
    out.mkdir(parents=True, exist_ok=True)
    model_file.save(detector, out / MODEL_NAME)
    return out / MODEL_NAME


def _check_recipe(path: Path) -> None:
    """A setting that a recipe does not allow is a mistake of the configuration, and is said now."""
    from holdfast.settings import read

    try:
        read(path)
    except HoldfastError as error:
        error.what = f"the recipe that comes of this configuration is not valid: {error.what}"
        raise


def _as_json(config: ImportedConfig, recipe: Path, model: Path | None) -> str:
    return json.dumps(
        {
            "recipe": str(recipe), "model": str(model) if model else None, "why_no_model": config.why_not or None,
            "not_carried_over": [line.as_json() for line in config.not_carried_over],
            "without_effect": [line.as_json() for line in config.lines if not line.matters],
        }
    )  # fmt: skip
