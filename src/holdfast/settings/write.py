"""From a Recipe to TOML: the resolved recipe of a run, and the commented example."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from holdfast import atomic_write
from holdfast.settings.installed_backend import default_backend
from holdfast.settings.recipe import TABLES, Recipe, is_required, rule_of, toml_value


def store(recipe: Recipe, path: Path) -> None:
    """Atomic: a kill never leaves half of a run's recipe."""
    atomic_write.write_text(path, to_toml(recipe), private=True)


def to_toml(recipe: Recipe) -> str:
    """Every setting with its value, so that the file keeps its meaning when defaults change."""
    blocks = []
    for table, kind in TABLES.items():
        values = {f.name: getattr(getattr(recipe, table), f.name) for f in fields(kind)}
        lines = [f"{name} = {toml_value(value)}" for name, value in values.items() if value is not None]
        blocks.append("\n".join([f"[{table}]", *lines]))
    return "\n\n".join(blocks) + "\n"


def example() -> str:
    """A recipe to start from: required settings, and all others with their defaults."""
    blocks = ["# A Holdfast recipe. Only data.train must be set; all other settings have defaults."]
    for table, kind in TABLES.items():
        lines = [f"[{table}]"]
        for one in fields(kind):
            rule = rule_of(one)
            shown = rule.example if is_required(one) or one.default is None else one.default
            shown = default_backend() if one.name == "backend" else shown
            hidden = "# " if one.default is None else ""
            choices = f" ({', '.join(rule.choices)})" if len(rule.choices) > 1 else ""
            lines.append(f"{f'{hidden}{one.name} = {toml_value(shown)}':<34} # {rule.doc}{choices}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"
