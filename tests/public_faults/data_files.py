"""Files that a set names but does not contain: made here, with the same columns and ranges, and learnable."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write(kind: str, folder: Path) -> None:
    _KINDS[kind](folder)


def _hmnist(folder: Path) -> None:
    """Skin lesions: 28 x 28 x 3 pixels and a class from 0 to 6."""
    pixels, labels = _images(1500, 28 * 28 * 3, 7)
    columns = [f"pixel{number:04d}" for number in range(pixels.shape[1])] + ["label"]
    _csv(folder / "hmnist_28_28_RGB.csv", columns, np.column_stack([pixels, labels]))


def _mnist_table(folder: Path) -> None:
    """Digits as a table: the label, then 784 pixels."""
    columns = ["label"] + [f"{row}x{column}" for row in range(1, 29) for column in range(1, 29)]
    for name, count in (("mnist_train.csv", 6000), ("mnist_test.csv", 2500)):
        pixels, labels = _images(count, 784, 10)
        path = folder / name
        _csv(path, columns, np.column_stack([labels, pixels]))
        _zipped(path)


def _weather(folder: Path) -> None:
    random = np.random.default_rng(5)
    low = random.normal(12, 6, 20_000)
    high, rain, wind = (
        low + random.gamma(4, 2.5, 20_000),
        random.gamma(0.3, 8, 20_000),
        random.gamma(9, 4.5, 20_000),
    )
    wet = (rain / 10 + wind / 40 - (high - low) / 10 + random.normal(0, 0.4, 20_000)) > 0.9
    rows = [
        f"{a:.1f},{b:.1f},{c:.1f},{d:.0f},{'Yes' if e else 'No'}"
        for a, b, c, d, e in zip(low, high, rain, wind, wet, strict=True)
    ]
    head = "MinTemp,MaxTemp,Rainfall,WindGustSpeed,RainTomorrow"
    (folder / "weatherAUS.csv").write_text("\n".join([head, *rows]) + "\n")


def _images(count: int, width: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    patterns = np.random.default_rng(7).random((classes, width)) ** 2
    random = np.random.default_rng(count)
    labels = random.integers(0, classes, count)
    return (255 * (0.7 * patterns[labels] + 0.3 * random.random((count, width)))).astype(int), labels


def _csv(path: Path, columns: list[str], rows: np.ndarray) -> None:
    np.savetxt(path, rows, fmt="%d", delimiter=",", header=",".join(columns), comments="")


def _zipped(path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(path.with_suffix(".csv.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, path.name)


_KINDS = {"hmnist": _hmnist, "mnist-table": _mnist_table, "weather": _weather}
