"""Small datasets made for tests: real pictures, and annotations written by hand in each format."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from PIL import Image

REAL = Path(__file__).parents[3] / "shared" / "data"


def picture(
    width: int = 64, height: int = 48, seed: int = 0, format: str = "JPEG", mode: str = "RGB", **save: Any
) -> bytes:
    """Encoded bytes that differ for every seed."""
    image = Image.new("RGB", (width, height), (seed * 37 % 256, seed * 91 % 256, seed * 53 % 256))
    image.paste((255 - seed % 256, 10, 200), (width // 4, height // 4, width // 2, height // 2))
    image.putpixel((seed % width, (seed // width) % height), (255, 255, 255))
    if mode != "RGB":
        image = image.convert(mode)
    out = io.BytesIO()
    image.save(out, format, **save)
    return out.getvalue()


def rotated(width: int, height: int, orientation: int, seed: int = 0) -> bytes:
    """A JPEG stored as width x height with an EXIF orientation."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return picture(width, height, seed, exif=exif)


def voc_xml(name: str, size: tuple[int, int], boxes: list[tuple[str, float, float, float, float]]) -> str:
    objects = "".join(
        f"<object><name>{label}</name><difficult>0</difficult><bndbox><xmin>{a}</xmin><ymin>{b}</ymin>"
        f"<xmax>{c}</xmax><ymax>{d}</ymax></bndbox></object>"
        for label, a, b, c, d in boxes
    )
    width, height = size
    return (
        f"<annotation><filename>{name}</filename><size><width>{width}</width><height>{height}</height>"
        f"<depth>3</depth></size>{objects}</annotation>"
    )


def voc(folder: Path, pictures: dict[str, tuple[bytes, tuple[int, int], list[Any]]]) -> Path:
    for name, (data, size, boxes) in pictures.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.with_suffix(".xml").write_text(voc_xml(file.name, size, boxes), encoding="utf-8")
    return folder


def clean_voc(folder: Path, count: int = 12) -> Path:
    return voc(
        folder,
        {
            f"{n:03d}.jpg": (picture(seed=n), (64, 48), [("cat" if n % 2 else "dog", 5, 6, 30 + n % 9, 40)])
            for n in range(count * 2)
        },
    )


def coco(
    folder: Path,
    images: list[dict[str, Any]],
    annotations: list[dict[str, Any]],
    categories: list[dict[str, Any]],
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    document = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def slugs(report: Any) -> dict[str, int]:
    return {finding.slug: finding.count for finding in report.findings}


def severities(report: Any) -> dict[str, str]:
    return {finding.slug: finding.severity for finding in report.findings}
