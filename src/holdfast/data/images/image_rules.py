"""What is wrong with one image and its boxes: pure decisions over the record and the image's facts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.data.files.file_index import suffix_of
from holdfast.data.images.exif import ROUNDING_PX, CoordinateFrame, Size, boxes_frame, fits
from holdfast.data.images.image_file import ImageFacts, unsupported_kind
from holdfast.data.records import Box, Record

TINY_PX = 8.0
_SUFFIXES = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "WEBP": (".webp",),
    "TIFF": (".tif", ".tiff"),
    "PPM": (".ppm", ".pgm", ".pnm", ".pbm"),
}
_MODES = {
    "CMYK": "CMYK: four inks instead of three colours",
    "I;16": "16 bits a channel: a decoder that keeps 8 loses or clips them",
    "F": "floating-point pixels",
    "YCbCr": "YCbCr",
    "LAB": "LAB",
    "P": "palette",
    "RGBA": "RGBA: an alpha channel",
    "PA": "palette with alpha",
    "LA": "grey with alpha",
    "L": "grey",
    "1": "black and white",
}
#: What a spreadsheet makes of a long number: 20240301123000 becomes 2.02403E+13.
_ROUNDED = re.compile(r"\d[.,]?\d*[eE]\+\d{1,3}(\.[A-Za-z]{3,4})?")
LEAST_FILLED = 0.08  # of the image's height
_SERIOUS_MODES = frozenset(("CMYK", "I;16", "F", "LAB"))


@dataclass(frozen=True, slots=True)
class RuleViolation:
    """One thing wrong; `severity` and `boxes_fit` only where they differ from the finding's own."""

    finding: str
    detail: str
    severity: str = ""
    boxes_fit: str = ""


def image_violations(record: Record, facts: ImageFacts) -> Iterator[RuleViolation]:
    if facts.problem:
        rounded = facts.problem == "missing-image" and _ROUNDED.fullmatch(record.file_name.rsplit("/", 1)[-1])
        yield (
            RuleViolation("rounded-name", f"{record.file_name}: there is no such file")
            if rounded
            else (RuleViolation(facts.problem, facts.detail))
        )
        return
    suffix = suffix_of(record.file_name)
    if wrong_suffix(facts.format, suffix):
        yield RuleViolation("wrong-extension", f"a {facts.format} named {suffix}")
    odd = unsupported_kind(facts)
    if odd:
        yield RuleViolation("undecoded-kind", odd)
    elif facts.frames > 1:
        yield RuleViolation(
            "unsupported-mode", f"animated: {facts.frames} frames, the first is used", "warning"
        )
    elif facts.mode in _MODES:
        severity = "warning" if facts.mode in _SERIOUS_MODES else "note"
        yield RuleViolation("unsupported-mode", _MODES[facts.mode], severity)


def filled_violations(record: Record, facts: ImageFacts) -> Iterator[RuleViolation]:
    """Boxes in the flat lower part of an image: there is nothing that they could be around."""
    flat, declared = facts.flat_from, record.image.declared_size
    if not flat or facts.problem or facts.height - flat < LEAST_FILLED * facts.height:
        return
    if declared is not None and declared != facts.size:
        return
    lost = sum(
        box.y2 - max(box.y1, flat) >= 0.8 * box.height
        and min(box.width, box.height) >= TINY_PX
        and not box.crowd
        for box in record.boxes
    )
    if lost:
        said = f"from row {flat} of {facts.height} on all pixels are alike, "
        yield RuleViolation("filled-image", f"{said}and {lost} of {len(record.boxes)} boxes are there")


def wrong_suffix(format: str, suffix: str) -> bool:
    """The suffix is an image's, and not one that this format has."""
    known = any(suffix in suffixes for suffixes in _SUFFIXES.values())
    return known and suffix not in _SUFFIXES.get(format, (suffix,))


def right_suffix(format: str) -> str:
    return _SUFFIXES.get(format, (".jpg",))[0]


def frame_of(record: Record, facts: ImageFacts) -> tuple[Size, CoordinateFrame]:
    """The size that the boxes should fit into, and which frame of a turned image that is."""
    declared = record.image.declared_size
    frame = boxes_frame(facts.size, facts.orientation, declared, record.boxes, record.frame)
    if frame.name == "unclear" and facts.orientation >= 5:
        inside = fits(record.boxes, facts.upright_size)
        return (facts.upright_size if inside else facts.size), frame
    return (facts.size if frame.name == "stored" else facts.upright_size), frame


def size_violations(record: Record, facts: ImageFacts, *, relative: bool) -> Iterator[RuleViolation]:
    """Orientation and declared size. Which of two sizes the boxes fit decides between opposite cures."""
    if facts.problem or not facts.width:
        return
    _, frame = frame_of(record, facts)
    if facts.orientation != 1:
        boxes = "" if not record.boxes else f"; boxes in the {frame.name} frame: {frame.proof}"
        yield RuleViolation("exif-rotated", f"orientation {facts.orientation}{boxes}")
    declared = record.image.declared_size
    if declared is None or declared in (facts.size, facts.upright_size):
        return
    fit = boxes_fit(record.boxes, declared, facts.upright_size, relative=relative)
    said = f"declared {declared[0]}x{declared[1]}, really {facts.upright_size[0]}x{facts.upright_size[1]}"
    spoils = fit == "declared" and record.boxes
    yield RuleViolation("size-mismatch", said, "error" if spoils else "warning", fit)


def boxes_fit(boxes: tuple[Box, ...], declared: Size, real: Size, *, relative: bool) -> str:
    """ "declared" or "real": the frame that the boxes were drawn in.

    When they fit both, the smaller frame is the likelier one: boxes of the larger would reach beyond it.
    """
    if relative:
        return "real"
    in_declared, in_real = fits(boxes, declared), fits(boxes, real)
    if in_declared != in_real:
        return "declared" if in_declared else "real"
    smaller_is_declared = declared[0] * declared[1] < real[0] * real[1]
    return "declared" if in_declared and boxes and smaller_is_declared else "real"


def frame_size(record: Record, facts: ImageFacts, *, relative: bool) -> tuple[int, int] | None:
    """What the boxes must fit into: the frame that they were drawn in."""
    declared = record.image.declared_size
    if not facts.width:
        return declared
    if declared is not None and declared not in (facts.size, facts.upright_size):
        fit = boxes_fit(record.boxes, declared, facts.upright_size, relative=relative)
        return declared if fit == "declared" else facts.upright_size
    return frame_of(record, facts)[0]


def box_violations(
    boxes: tuple[Box, ...], size: Size | None, *, sized: bool = True
) -> Iterator[tuple[int, RuleViolation]]:
    """The position of each bad box and the first thing wrong with it, and every repeat of a class's box."""
    seen: set[tuple[str, float, float, float, float]] = set()
    for position, box in enumerate(boxes):
        verdict = box_violation(box, size, sized=sized)
        if verdict is not None:
            yield position, verdict
            if size is not None and any(is_wrapped(corner, size) for corner in box.corners):
                yield position, RuleViolation("wrapped-box", f"{box_text(box)} {box.name!r}")
        key = (box.name, *box.corners)
        if key in seen and (verdict is None or verdict.finding == "tiny-box"):
            yield position, RuleViolation("duplicate-box", f"{box_text(box)} {box.name!r}")
        seen.add(key)


def box_violation(box: Box, size: Size | None, *, sized: bool = True) -> RuleViolation | None:
    """`sized`: the format holds a corner and a size, in whose place a program may have written two corners."""
    if size is not None and _plainly_good(box, size):
        return None
    corners = box.corners
    if not all(math.isfinite(corner) for corner in corners):
        return RuleViolation("not-finite-box", f"{box_text(box)} {box.name!r}")
    if box.x2 < box.x1 or box.y2 < box.y1:
        return RuleViolation("inverted-box", f"{box_text(box)} {box.name!r}")
    if box.x2 == box.x1 or box.y2 == box.y1:
        return RuleViolation("zero-area-box", f"{box_text(box)} {box.name!r}")
    if size is not None:
        beyond = max(-box.x1, -box.y1, box.x2 - size[0], box.y2 - size[1])
        said = f"{box_text(box)} {box.name!r} in an image of {size[0]}x{size[1]}"
        if beyond > ROUNDING_PX:
            return RuleViolation(_misread(box, size, sized=sized), said)
        if beyond > 1e-3:
            return RuleViolation("edge-rounding", said)
    smaller = min(box.width, box.height)
    if smaller < TINY_PX:
        return RuleViolation(
            "tiny-box", f"{box_text(box)} {box.name!r}", "warning" if smaller <= 2 else "note"
        )
    return None


def _plainly_good(box: Box, size: Size) -> bool:
    """The quick answer for nearly every box; NaN compares false and goes the long way."""
    return (
        box.x1 >= 0
        and box.x1 + TINY_PX <= box.x2 <= size[0]
        and box.y1 >= 0
        and box.y1 + TINY_PX <= box.y2 <= size[1]
    )


def is_wrapped(corner: float, size: Size) -> bool:
    """Just below a power of two that is far beyond the image: -1 stored as 65535."""
    if corner <= 4 * max(size):
        return False
    return any(0 < top - corner <= top / 32 for top in (2.0**16, 2.0**31, 2.0**32, 2.0**63, 2.0**64))


def _misread(box: Box, size: Size, *, sized: bool) -> str:
    """Why a box is outside: pixels where fractions belong come out multiplied by the size; two corners where
    a corner and a size belong come out as a box that would fit if its size were its far corner."""
    if box.x2 > 10 * size[0] and box.y2 > 10 * size[1] and not any(is_wrapped(c, size) for c in box.corners):
        return "pixels-as-fractions"
    fits_as_corners = sized and 0 <= box.x1 < box.width <= size[0] and 0 <= box.y1 < box.height <= size[1]
    beyond_both = (
        box.x2 > 1.1 * size[0] and box.y2 > 1.1 * size[1]
    )  # a box that merely overlaps an edge is less
    return "corners-as-size" if fits_as_corners and beyond_both else "outside-box"


def box_text(box: Box) -> str:
    return "box " + ",".join(
        f"{corner:g}" if abs(corner) < 1e6 else f"{corner:.0f}" for corner in box.corners
    )
