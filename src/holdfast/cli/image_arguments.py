"""Images as arguments of a command, and the Keras backend of commands that load a model."""

from __future__ import annotations

from collections.abc import Sized
from pathlib import Path

from holdfast.errors import PathMissing, UsageError, of_os

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")


def count_images(images: Sized) -> str:
    return "1 image" if len(images) == 1 else f"{len(images)} images"


def choose_backend() -> None:
    """Keras reads this when it is imported. A model file runs with either backend."""
    import os

    from holdfast.settings.installed_backend import default_backend

    if os.environ.get("KERAS_BACKEND") not in ("tensorflow", "jax"):
        os.environ["KERAS_BACKEND"] = default_backend()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def image_names(places: list[str]) -> list[str]:
    """The same as `find_images`, as text, and images behind URLs too."""
    from holdfast.data.files import filesystem

    found: list[str] = []
    for place in places:
        found += _behind_url(place) if filesystem.is_url(place) else map(str, find_images([place]))
    return found


def _behind_url(place: str) -> list[str]:
    from holdfast.data.files import filesystem

    try:
        if any(sign in place for sign in "*?["):
            inside = filesystem.glob(place)
        elif filesystem.is_folder(place):
            names = (filesystem.join(place, name) for name in filesystem.walk(place))
            inside = [name for name in names if name.lower().endswith(SUFFIXES)]
        else:
            inside = [place] if filesystem.exists(place) else []
    except OSError as error:
        raise filesystem.as_file_error(error, place) from None
    if not inside:
        raise PathMissing(
            "no images found",
            where=place,
            found=f"nothing at this address ends in {' '.join(SUFFIXES)}",
            change="give the URL of an image, a folder of images, or a glob",
        )
    return inside


def find_images(places: list[str]) -> list[Path]:
    """Files in the order given; a folder's are sorted and searched for recursively."""
    from glob import glob

    from holdfast.data.files import filesystem

    found: list[Path] = []
    for place in places:
        path = Path(place)
        if path.is_dir():
            below = (path / name for name in filesystem.walk(place))  # refuses an unreadable folder
            inside = sorted(file for file in below if file.suffix.lower() in SUFFIXES)
        elif path.is_file():
            _refuse_other_file(path)
            inside = [path]
        else:
            inside = [Path(name) for name in sorted(glob(place, recursive=True))]
        if not inside:
            raise PathMissing(
                "no images found",
                where=place,
                found=f"no file in this folder or below it ends in {' '.join(SUFFIXES)}"
                if path.is_dir()
                else "no file has this name or matches this pattern",
                change="give an image, a folder of images, or a glob",
            )
        found += inside
    return found


def _refuse_other_file(path: Path) -> None:
    """A file that is not an image, before a model is loaded, which takes long."""
    if path.suffix.lower() in SUFFIXES:
        return
    from PIL import Image

    try:
        with Image.open(path):
            return
    except (OSError, ValueError, SyntaxError) as error:
        if isinstance(error, PermissionError):
            raise of_os(error) from error
        raise UsageError(
            "this file is not an image",
            where=path,
            found=f"it ends in {path.suffix}" if path.suffix else "it is in no image format that can be read",
            change="give an image, a folder of images, or a glob",
        ) from error
