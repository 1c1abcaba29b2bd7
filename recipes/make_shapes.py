"""Writes the dataset of the cpu-shapes recipes: drawn shapes on textured backgrounds, with COCO annotations.

python recipes/make_shapes.py shapes
"""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.data.synthetic import make_dataset


def main(folder: Path) -> None:
    make_dataset(folder / "train", count=240, side=160, seed=1)
    make_dataset(folder / "validation", count=48, side=160, seed=2)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
