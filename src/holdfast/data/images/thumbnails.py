"""Images with their boxes drawn, small enough to carry inside a page."""

from __future__ import annotations

import base64
import io
import math
import random
import warnings
from collections.abc import Sequence
from html import escape

from holdfast.data.images.exif import turned_upright
from holdfast.data.images.image_file import BOMB_PIXELS, ImageFacts, as_rgb, header_of, open_image
from holdfast.data.images.image_rules import frame_of
from holdfast.data.records import Box, Record
from holdfast.errors import HoldfastError

SIDE_PX = 360
MOST_BOXES = 400  # drawn in one image


def choose_records(records: Sequence[Record], count: int, seed: int = 0) -> list[Record]:
    """The fullest image, one of every class, one without boxes, and a random rest; always the same ones."""
    if count >= len(records):
        return list(records)
    picked: dict[int, Record] = {}
    seen: set[str] = set()
    fullest = max(range(len(records)), key=lambda at: len(records[at].boxes), default=None)
    if fullest is not None and count:
        picked[fullest] = records[fullest]
    for at, record in enumerate(records):
        new = {box.name for box in record.boxes} - seen or (set() if record.boxes else {""} - seen)
        if new and len(picked) < count:
            seen |= {box.name for box in record.boxes} or {""}
            picked[at] = record
    order = list(range(len(records)))
    random.Random(seed).shuffle(order)
    for at in order:
        if len(picked) >= count:
            break
        picked[at] = records[at]
    return list(picked.values())


def figure(record: Record, colours: dict[str, str]) -> str:
    """One image as markup; one that cannot be decoded says so in its place."""
    caption = f"{escape(record.file_name)} <span class=dim>{len(record.boxes)} boxes</span>"
    try:
        drawn = _drawn(record, colours)
    except (HoldfastError, OSError, ValueError, SyntaxError, MemoryError, ArithmeticError) as error:
        said = escape(str(error)[:120] or type(error).__name__)
        drawn = f'<div class="broken">this image cannot be shown: {said}</div>'
    return f"<figure>{drawn}<figcaption>{caption}</figcaption></figure>"


def _drawn(record: Record, colours: dict[str, str]) -> str:
    data = record.image.read()
    facts, small = thumbnail(data)
    boxes = record.boxes
    if frame_of(record, facts)[1].name == "stored":
        boxes = tuple(turned_upright(box, facts.size, facts.orientation) for box in boxes)
    width, height = facts.upright_size
    encoded = base64.b64encode(small).decode()
    shapes = "".join(_shape(box, colours, max(width, height)) for box in boxes[:MOST_BOXES])
    return (
        f'<svg viewBox="0 0 {width} {height}"><image width="{width}" height="{height}" '
        f'href="data:image/jpeg;base64,{encoded}"/>{shapes}</svg>'
    )


def thumbnail(data: bytes, side_px: int = SIDE_PX) -> tuple[ImageFacts, bytes]:
    """The facts of an encoded image, and a small JPEG of it, upright."""
    from PIL import ImageOps

    facts = header_of(data)
    if facts is None:
        raise ValueError("it is not an image")
    if facts.width * facts.height > BOMB_PIXELS:
        raise ValueError(f"{facts.width}x{facts.height} is too large to decode safely")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = open_image(data)
        image.draft("RGB", (side_px, side_px))
        image = as_rgb(ImageOps.exif_transpose(image))
        image.thumbnail((side_px, side_px))
        out = io.BytesIO()
        image.save(out, "JPEG", quality=82)
    return facts, out.getvalue()


def _shape(box: Box, colours: dict[str, str], longest: int) -> str:
    if not all(math.isfinite(corner) for corner in box.corners):
        return ""
    x, y = min(box.x1, box.x2), min(box.y1, box.y2)
    line = max(1.0, longest / 220)
    dash = f' stroke-dasharray="{3 * line:.1f}"' if box.crowd or box.difficult else ""
    said = escape(f"{box.name} {box.x1:g},{box.y1:g} to {box.x2:g},{box.y2:g}")
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{abs(box.width):.1f}" height="{abs(box.height):.1f}" fill="none" '
        f'stroke="{colours.get(box.name, "#f0f")}" stroke-width="{line:.1f}"{dash}><title>{said}</title></rect>'
    )


def colours_of(classes: Sequence[str]) -> dict[str, str]:
    """One hue a class, by the golden angle, so that neighbours in the list look different."""
    return {
        name: f"hsl({at * 137.508 % 360:.0f} 90% {52 if at % 2 else 60}%)" for at, name in enumerate(classes)
    }
