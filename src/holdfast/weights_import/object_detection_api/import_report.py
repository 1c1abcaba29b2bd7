"""The recipe and the report of an import, as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.settings.recipe import TABLES, toml_value
from holdfast.weights_import.object_detection_api.train_settings import RecipeSettings

if TYPE_CHECKING:
    from holdfast.weights_import.object_detection_api.config_sections import ConfigLine
    from holdfast.weights_import.object_detection_api.import_config import ImportedConfig

RECIPE_NAME = "recipe.toml"


def recipe_text(recipe: RecipeSettings, source: Path) -> str:
    """What the configuration says; settings that it does not know keep their defaults."""
    values = {"data.train": "PATH_TO_BE_CONFIGURED", **recipe.values}
    blocks = [f"# From {source.name} of the Object Detection API. `holdfast recipe` lists all settings."]
    for table in TABLES:
        lines = [f"[{table}]"]
        for name, value in values.items():
            owner, _, key = name.partition(".")
            if owner == table:
                remark = f"  # {recipe.remarks[name]}" if name in recipe.remarks else ""
                lines.append(f"{key} = {toml_value(value)}{remark}")
        blocks += ["\n".join(lines)] if len(lines) > 1 else []
    return "\n\n".join(blocks) + "\n"


def as_text(config: ImportedConfig, recipe: Path, model: Path | None, source: Path) -> str:
    dropped = config.not_carried_over
    ignored = [line for line in config.lines if not line.matters]
    parts = [f"wrote {recipe}", _about_model(config, model)]
    if dropped:
        parts += ["", f"not carried over ({len(dropped)}):", *_listed(dropped, source)]
    if ignored:
        parts += ["", f"without effect here ({len(ignored)}):", *_listed(ignored, source)]
    parts += ["", f"next: holdfast check {recipe}"]
    return "\n".join(parts)


def _about_model(config: ImportedConfig, model: Path | None) -> str:
    if model is not None and config.model is not None:
        return f"wrote {model}: {config.model.detector} on {config.model.backbone}, {len(config.classes)} classes"
    if config.model is None:
        return f"no model: {config.why_not}; the recipe trains a detector of Holdfast's own on the same data"
    return (
        "no model: no checkpoint was given; the recipe trains the same kind of detector from random weights"
    )


def _listed(lines: list[ConfigLine], source: Path) -> list[str]:
    return [f"  {source.name}:{one.line}  {one.name} {one.value}: {one.reason}" for one in lines]
