"""Images whose truth is known: one filled rectangle of a class's own colour on dark grey."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from holdfast.data.records import Dataset, Record

COLOURS = {
    "red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "pink": (255, 0, 255), "cyan": (0, 255, 255),
}  # fmt: skip
NAMES = tuple(COLOURS)


def rectangle_image(width: int, height: int, box: tuple[int, int, int, int], colour: str) -> np.ndarray:
    image = np.full((height, width, 3), 60, np.uint8)
    image[box[1] : box[3], box[0] : box[2]] = COLOURS[colour]
    return image


def random_rectangles(count: int, seed: int = 0, sides: tuple[int, int] = (150, 420)) -> list[tuple]:
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        width, height = (int(side) for side in rng.integers(*sides, size=2))
        w, h = int(rng.integers(width // 4, width // 2)), int(rng.integers(height // 4, height // 2))
        x, y = int(rng.integers(0, width - w)), int(rng.integers(0, height - h))
        made.append((width, height, (x, y, x + w, y + h), NAMES[number % len(NAMES)]))
    return made


def save(path: Path, image: np.ndarray, orientation: int = 1) -> None:
    """`image` is upright; it is stored so that `orientation` turns it upright again."""
    from PIL import Image

    stored = Image.fromarray(image)
    inverse = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # of Pillow's Transpose
    if orientation != 1:
        stored = stored.transpose(Image.Transpose(inverse[orientation]))
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"quality": 98, "subsampling": 0} if path.suffix == ".jpg" else {}
    stored.save(path, exif=exif, **options)


def dataset_of(records: list[Record]) -> Dataset:
    return Dataset("made", "voc", tuple(records), NAMES)


def truth_of(image: np.ndarray, colour: str) -> np.ndarray:
    """Which pixels show the colour: no channel further than half way to the background."""
    wanted = np.array(COLOURS[colour], np.int32)
    return (np.abs(image.astype(np.int32) - wanted) < np.where(wanted > 0, 98, 58)).all(axis=-1)


def box_of(mask: np.ndarray) -> tuple[int, int, int, int] | None:
    if not mask.any():
        return None
    ys, xs = np.nonzero(mask)
    return int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1
