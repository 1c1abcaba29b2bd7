"""From the argument RECIPE_OR_DATA to a recipe that can be run: resolve it, make its paths absolute, refuse it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.unimported_weights import refuse_unimported
from holdfast.errors import PathMissing, UsageError, nearest
from holdfast.journal.folder import RunFolder
from holdfast.settings import pretrained

if TYPE_CHECKING:
    from holdfast.settings.recipe import Recipe

#: The settings whose values are paths.
PATHS = ("data.train", "data.validation", "model.weights")
#: Names that `model.weights` takes, were there a folder called so.
NOT_PATHS = (*pretrained.NAMES, "imagenet")
_GLOB = re.compile(r"[*?\[]")


def resolve_recipe(source: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe in a file, or the default recipe for data. Its paths are absolute."""
    from holdfast import settings

    if source.endswith(".toml"):
        folder = Path(source).parent
        return with_absolute_paths(
            settings.read(
                source, overrides, of_file=lambda weights: settings_of_weights(_absolute(weights, folder))
            ),
            folder,
        )
    refuse_script_or_run(source)
    if source.endswith(".config"):
        refuse_unimported(source, "")
    if "://" not in source and not Path(source).exists() and not glob(source):
        raise PathMissing(
            "there is neither a recipe nor data at this path",
            where=source,
            change="give a recipe (a .toml file), or a folder or file of images and boxes",
        )
    return with_absolute_paths(
        settings.resolve({"data": {"train": source}}, overrides, of_file=settings_of_weights), Path()
    )


def settings_of_weights(weights: str) -> Mapping[str, Any] | None:
    """The detector, the backbone and the input of a file of torchvision, of a run or of an import."""
    path = Path(weights)
    if is_state_dict(path):
        from holdfast.weights_import.torchvision.torchvision_file import architecture_of

        found = architecture_of(path)
        return pretrained.settings_for(found.detector, found.backbone, found.input)
    from holdfast.detectors.model_paths import MODEL_NAME, read_spec

    spec = read_spec(path / MODEL_NAME if path.is_dir() else path)
    if not spec or (path.suffix != ".npz" and not path.is_dir()):
        return None
    return pretrained.settings_for(spec["detector"], spec["backbone"], int(spec["input"][0]))


def is_state_dict(path: Path) -> bool:
    return path.suffix in (".pth", ".pt") and path.is_file()


def download_weights(recipe: Recipe) -> None:
    """A pretrained detector that `model.weights` names is fetched now, where somebody looks on."""
    named = pretrained.find_pretrained(
        recipe.model.weights or "", recipe.model.detector, recipe.model.backbone
    )
    if named is not None:
        from holdfast.weights_import.torchvision.download import fetch

        fetch(named)


# -- paths ----------------------------------------------------------------------------------------


def with_absolute_paths(recipe: Recipe, recipe_folder: Path) -> Recipe:
    """So that the run can be resumed from any folder. Paths are looked up from here, then from the recipe's folder."""
    data = replace(
        recipe.data,
        train=_absolute(recipe.data.train, recipe_folder),
        validation=recipe.data.validation and _absolute(recipe.data.validation, recipe_folder),
    )
    weights = recipe.model.weights and _absolute(recipe.model.weights, recipe_folder)
    return replace(recipe, data=data, model=replace(recipe.model, weights=weights))


def with_found_paths(recipe: Recipe, recipe_folder: Path) -> Recipe:
    """Data paths as they were written where they exist from here, else from the recipe's folder. For display."""
    data = replace(
        recipe.data,
        train=_found(recipe.data.train, recipe_folder),
        validation=recipe.data.validation and _found(recipe.data.validation, recipe_folder),
    )
    return replace(recipe, data=data)


def absolute_override(override: str) -> str:
    """Of a run that is resumed: its recipe has absolute paths, so an override needs one too."""
    key, equals, value = override.partition("=")
    return f"{key}{equals}{_absolute(value, Path())}" if key.strip() in PATHS and value else override


def path_exists(path: str) -> bool:
    """A file, a folder (also one called `set [v2]`), or a pattern that matches something."""
    return os.path.exists(path) or bool(_GLOB.search(path) and glob(path))


def _absolute(path: str, recipe_folder: Path) -> str:
    if "://" in path or path in NOT_PATHS:
        return path
    path = os.path.expanduser(path)
    if Path(path).is_absolute():
        return path
    found = next((one for one in (Path(path), recipe_folder / path) if path_exists(str(one))), None)
    if found is None:
        return path
    return str(found.resolve() if found.exists() else found.absolute())


def _found(path: str, recipe_folder: Path) -> str:
    if "://" in path:
        return path
    here = os.path.expanduser(path)
    from_recipe = str(recipe_folder / here)
    return from_recipe if not path_exists(here) and path_exists(from_recipe) else here


# -- what is refused before anything is loaded -----------------------------------------------------


def refuse_script_or_run(source: str) -> None:
    """A script, a notebook or a run folder was given where a recipe or data is expected."""
    if source.endswith((".py", ".ipynb", ".sh")):
        raise UsageError(
            "this is a script, not a recipe or data",
            where=source,
            change=f"holdfast run -- {'bash' if source.endswith('.sh') else 'python'} {shlex.quote(source)} watches it"
            if not source.endswith(".ipynb")
            else 'in the notebook: with holdfast.watch("runs/x"): model.fit(...)',
        )
    folder = RunFolder(Path(source))
    # False where the folder may not be read; Path.is_file would raise there.
    if "://" not in source and os.path.isfile(folder.journal):
        own = [f"its recipe is {folder.recipe}"] if folder.recipe.is_file() else []
        resume = f"holdfast train --resume --run-dir {shlex.quote(source)} resumes it"
        raise UsageError(
            "this is a run folder, not a recipe or data",
            where=source,
            found=own,
            change=[
                *([resume] if own else []),
                f"holdfast explain {shlex.quote(source)} explains how it ended",
            ],
        )


def refuse_missing_data(
    recipe: Recipe, source: str | Path, overrides: Sequence[str] = (), *, weights: bool = True
) -> None:
    """Before Keras is loaded and a folder is made: a local path that does not exist, or data that is none.

    `weights` is false where the initial weights are not read."""
    from holdfast.data.reading import detect_format

    for key, path in (("data.train", recipe.data.train), ("data.validation", recipe.data.validation)):
        if not path or "://" in path or _GLOB.search(path):
            continue
        if Path(path).exists():
            detect_format.open_sources(path)
            continue
        raise _missing(key, Path(path), source, overrides, _DATA_CHANGE.format(key=key))
    given = recipe.model.weights if weights else None
    refuse_unimported(given or "", "model.weights")
    if given and given not in NOT_PATHS and "://" not in given and not Path(given).exists():
        raise _missing("model.weights", Path(given), source, overrides, *_WEIGHTS_CHANGE, names=NOT_PATHS)


_DATA_CHANGE = (
    "set {key} to the folder or file with the images and boxes; a relative path is looked up from the current folder, "
    "then from the recipe's folder"
)
_WEIGHTS_CHANGE = (
    "give a .pth file of torchvision, a run, the folder of an import, or a file with a backbone's weights; if it was "
    "moved: --set model.weights=PATH",
    f"torchvision's trained detectors are called {', '.join(pretrained.NAMES)}",
)


def _missing(
    key: str,
    given: Path,
    source: str | Path,
    overrides: Sequence[str],
    *change: str,
    names: Sequence[str] = (),
) -> PathMissing:
    """`names` are what the setting takes beside paths."""
    bases = (Path.cwd(), Path(source).resolve().parent)
    places = dict.fromkeys(_first_missing_part(base, given) for base in bases)
    close = nearest(str(given), names) or next(
        (
            str(given).replace(part, near, 1)
            for place, part in places
            if (near := nearest(part, _names_in(place)))
        ),
        None,
    )
    typed = next((one for one in overrides if one.startswith(f"{key}=")), "")
    return PathMissing(
        f"{key} names a path that does not exist: {given}",
        where=f"--set {typed}" if typed else source,
        found=[f"no {part} in {place}" for place, part in places],
        change=[*([f"the nearest name there is {close}"] if close else []), *change],
    )


def _first_missing_part(base: Path, given: Path) -> tuple[str, str]:
    """The deepest folder on the way that exists, and the first part of the path that is not in it."""
    full = base / given
    for above in reversed(full.parents):
        part = full.relative_to(above).parts[0]
        if not (above / part).exists():
            return str(above), part
    return str(full.parent), full.name


def _names_in(place: str) -> list[str]:
    return [one.name for one in Path(place).iterdir()] if Path(place).is_dir() else []
