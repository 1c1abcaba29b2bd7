"""Small datasets made for tests: real images, and annotations written by hand in each format."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any

from PIL import Image

from tests import real_data

REAL = real_data.DATA


def image(
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


def sixteen_bits(width: int = 64, height: int = 48, format: str = "PNG", mode: str = "I;16") -> bytes:
    """Grey from 0 to 65535, encoded with 16 bits a pixel; `high_bytes` is what an 8-bit decoder makes of it."""
    order = "big" if mode == "I;16B" else "little"
    raw = b"".join(value.to_bytes(2, order) for value in _ramp(width * height))
    out = io.BytesIO()
    image = Image.frombytes(mode, (width, height), raw)
    (image.convert("I") if format == "PPM" else image).save(out, format)
    return out.getvalue()


def high_bytes(width: int = 64, height: int = 48) -> Image.Image:
    grey = Image.frombytes("L", (width, height), bytes(value >> 8 for value in _ramp(width * height)))
    return grey.convert("RGB")


def _ramp(count: int) -> list[int]:
    return [number * 65535 // (count - 1) for number in range(count)]


def turned_tiff(width: int, height: int, orientation: int, **save: Any) -> bytes:
    """Stored as width x height: red, with the tag that says how to turn it, and blue at the stored top left."""
    image = Image.new("RGB", (width, height), (200, 0, 0))
    image.paste((0, 0, 255), (0, 0, width // 2, height // 4))
    out = io.BytesIO()
    image.save(out, "TIFF", tiffinfo={274: orientation}, **save)
    return out.getvalue()


def bmp(
    bits: int, compression: int, pixels: bytes, extra: bytes = b"", size: tuple[int, int] = (8, 4)
) -> bytes:
    """The kinds that Pillow reads and does not write; `extra` is a palette or masks."""
    begin = 54 + len(extra)
    header = struct.pack("<IHHI", begin + len(pixels), 0, 0, begin)
    more = struct.pack("<IiiHHIIiiII", 40, *size, 1, bits, compression, len(pixels), 0, 0, 0, 0)
    return b"BM" + header + more + extra + pixels


def os2_bmp(width: int, height: int) -> bytes:
    pixels = bytes((3 * width + 3) // 4 * 4 * height)
    return b"BM" + struct.pack("<IHHIIHHHH", 26 + len(pixels), 0, 0, 26, 12, width, height, 1, 24) + pixels


def odd_images() -> dict[str, bytes]:
    """What TensorFlow does not decode or decodes wrongly, by what it is called in a message."""
    clear = Image.open(io.BytesIO(image(format="PNG"))).convert("RGBA")
    clear.putalpha(100)
    transparent, animated = io.BytesIO(), io.BytesIO()
    clear.save(transparent, "WEBP", lossless=True)
    Image.new("RGB", (64, 48), (9, 90, 200)).save(
        animated, "WEBP", lossless=True, save_all=True, append_images=[Image.new("RGB", (64, 48), "red")]
    )
    return {
        "TIFF": image(format="TIFF"),
        "PPM": image(format="PPM"),
        "palette BMP": image(format="BMP", mode="P"),
        "black-and-white BMP": image(format="BMP", mode="1"),
        "packed BMP": bmp(16, 0, bytes(range(64))),
        "transparent WEBP": transparent.getvalue(),
        "animated WEBP": animated.getvalue(),
    }


def rotated(width: int, height: int, orientation: int, seed: int = 0) -> bytes:
    """A JPEG stored as width x height with an EXIF orientation."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return image(width, height, seed, exif=exif)


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


def voc(folder: Path, images: dict[str, tuple[bytes, tuple[int, int], list[Any]]]) -> Path:
    for name, (data, size, boxes) in images.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.with_suffix(".xml").write_text(voc_xml(file.name, size, boxes), encoding="utf-8")
    return folder


def clean_voc(folder: Path, count: int = 12) -> Path:
    return voc(
        folder,
        {
            f"{n:03d}.jpg": (image(seed=n), (64, 48), [("cat" if n % 2 else "dog", 5, 6, 30 + n % 9, 40)])
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
