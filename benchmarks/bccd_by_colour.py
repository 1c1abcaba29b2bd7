"""A baseline for BCCD that learns nothing but sizes: cells by their colour, and round ones by their distance transform.

    git clone https://github.com/Shenggan/BCCD_Dataset bccd
    python benchmarks/bccd_by_colour.py bccd OUT
    holdfast eval --ground-truth OUT/gt/annotations/instances_test.json --detections OUT/dt.json

Purple pixels are nuclei: large pieces white blood cells, small ones platelets. The other pixels darker than the
background are red blood cells, one for each peak of the distance to the background. A box has the median size that its
class has in the training split, but for platelets and white cells, which have their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from holdfast.data.reading.load import read
from holdfast.data.writing.output_names import class_numbers, image_numbers


def otsu(values: np.ndarray) -> float:
    """The threshold that parts the values into two groups of the least variance."""
    counts, edges = np.histogram(values, bins=128)
    middle = (edges[:-1] + edges[1:]) / 2
    below, total = np.cumsum(counts), counts.sum()
    mass = np.cumsum(counts * middle)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (mass[-1] * below / total - mass) ** 2 / (below * (total - below))
    return float(middle[np.nanargmax(between)])


def found_in(pixels: np.ndarray, red: tuple[float, float]) -> list[tuple[str, tuple[float, ...], float]]:
    """(class, x y w h, score) of everything that colour tells."""
    g, b = pixels[..., 1].astype(float), pixels[..., 2].astype(float)
    dark = ndimage.binary_fill_holes(g < otsu(g))
    purple = b - g
    nuclei = ndimage.binary_opening(purple > max(otsu(purple), 45.0), iterations=2)
    found: list[tuple[str, tuple[float, ...], float]] = []
    pieces, _ = ndimage.label(ndimage.binary_dilation(nuclei, iterations=2))
    for piece, where in enumerate(ndimage.find_objects(pieces), start=1):
        height, width = (part.stop - part.start for part in where)
        area = int((pieces[where] == piece).sum())
        if area < 150:
            continue
        name = "WBC" if area > 6000 else "Platelets"
        grow = 0.1 if name == "WBC" else 0.0  # the cell around the nucleus
        x, y = where[1].start - grow * width, where[0].start - grow * height
        found.append(
            (name, (x, y, width * (1 + 2 * grow), height * (1 + 2 * grow)), min(1.0, area / 20000 + 0.3))
        )
    depth = ndimage.gaussian_filter(
        ndimage.distance_transform_edt(dark & ~ndimage.binary_dilation(nuclei, iterations=8)), 4
    )
    peaks = (depth == ndimage.maximum_filter(depth, size=int(0.55 * min(red)))) & (depth > 0.2 * min(red))
    for y, x in np.argwhere(peaks):
        found.append(
            ("RBC", (x - red[0] / 2, y - red[1] / 2, *red), float(min(1.0, depth[y, x] / min(red) + 0.3)))
        )
    return found


def main(data: str, out: Path) -> None:
    dataset = read(data, strict=False)
    sizes = [
        (b.width, b.height) for r in dataset.only_split("train").records for b in r.boxes if b.name == "RBC"
    ]
    red = tuple(float(side) for side in np.median(np.array(sizes), axis=0))
    test = dataset.only_split("test")
    numbers = class_numbers(dataset, first=0)
    rows = []
    for image, record in zip(image_numbers(test.records), test.records, strict=True):
        pixels = np.asarray(Image.open(record.image.path).convert("RGB"))
        for name, box, score in found_in(pixels, red):
            sides = [float(side) for side in box]
            rows.append({"image_id": image, "category_id": numbers[name], "bbox": sides, "score": score})
    out.mkdir(parents=True, exist_ok=True)
    (out / "dt.json").write_text(json.dumps(rows))
    command = [sys.executable, "-m", "holdfast", "data", "convert", data, str(out / "gt"), "--to", "coco"]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
