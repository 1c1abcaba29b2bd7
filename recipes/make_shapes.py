"""Writes the dataset of the cpu-shapes recipes: drawn shapes on textured backgrounds, with COCO annotations.

python recipes/make_shapes.py shapes
"""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.data import shapes


def main(folder: Path) -> None:
    shapes.make(folder / "train", count=240, side=160, seed=1)
    shapes.make(folder / "validation", count=48, side=160, seed=2)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
