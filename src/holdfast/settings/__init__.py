"""The recipe: one TOML file, typed, no inheritance, no evaluation.

`recipe` defines the settings, `read` turns a file and overrides into a `Recipe` or an error that
names the key and its line, `write` turns it back into a file.
"""

from holdfast.settings.read import read, resolve
from holdfast.settings.recipe import Recipe
from holdfast.settings.write import example, store, to_toml

__all__ = ["Recipe", "example", "read", "resolve", "store", "to_toml"]
