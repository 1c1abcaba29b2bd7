"""What an image really is: its size, format, mode, orientation and whether it decodes to the end."""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import warnings
from dataclasses import dataclass, replace
from typing import Any

from holdfast.data.files import filesystem
from holdfast.data.records import ImageRef
from holdfast.errors import HoldfastError

# Only what Pillow decodes by itself: EPS would start Ghostscript, and the rest are no training images.
# A phone's MPO opens as JPEG.
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM")
BOMB_PIXELS = 200_000_000  # 600 MB as RGB; the largest camera backs have 150 megapixels
LARGEST_FILE_BYTES = 512 << 20
USUAL_MASKS = (struct.pack("<III", 0xFF0000, 0xFF00, 0xFF), bytes(12))  # none given is blue, green, red too
FLAT = 3  # of 255: what saving as JPEG changes in one colour
FEWEST_ROWS = 20  # as decoded, which is at an eighth for JPEG: fewer are alike in many an image
LOOK = 8  # pixels of each side of an image's look
HEADER_BYTES = 256 << 10  # EXIF with a preview can hold 64 KB before the size


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What was found; `problem` is a finding's slug where the image cannot be used."""

    problem: str = ""
    detail: str = ""
    width: int = 0  # as stored, before the orientation is applied; a TIFF's is applied by Pillow
    height: int = 0
    format: str = ""
    mode: str = ""  # Pillow's; "I;16": any with 16 bits a channel; "packed": a BMP not of plain bytes
    orientation: int = 1
    frames: int = 1
    bytes: int = 0
    digest: str = ""  # of the encoded bytes
    look: str = ""  # 8 by 8 grey pixels as hexadecimal: alike for images that look alike
    flat_from: int = 0  # the first row of the lower part, if all pixels there are alike; 0 where they are not

    def __reduce__(self) -> tuple[Any, ...]:
        said, size = (self.problem, self.detail), (self.width, self.height)
        kind = self.format, self.mode, self.orientation, self.frames
        return ImageFacts, (*said, *size, *kind, self.bytes, self.digest, self.look, self.flat_from)

    @property
    def size(self) -> tuple[int, int]:
        return self.width, self.height

    @property
    def upright_size(self) -> tuple[int, int]:
        return (self.height, self.width) if self.orientation >= 5 else (self.width, self.height)


def probe_image(image: ImageRef) -> ImageFacts:
    """Read and decode one image. Never raises for what a file may hold."""
    try:
        problem = refusal(image)
        if problem is not None:
            return problem
        data = image.read()
    except HoldfastError as error:
        if error.slug == "path-missing":
            return ImageFacts("missing-image", "there is no such file")
        return ImageFacts(
            "unreadable-image", f"{error.what}{': ' + '; '.join(error.found) if error.found else ''}"
        )
    return examine_bytes(data)


def refusal(image: ImageRef) -> ImageFacts | None:
    """Why the file should not even be opened: a FIFO would block forever."""
    if filesystem.is_url(image.path):
        return None
    try:
        status = os.stat(image.path)
    except FileNotFoundError:
        return ImageFacts("missing-image", "there is no such file")
    except (OSError, ValueError) as error:
        return ImageFacts("unreadable-image", f"the file cannot be opened: {error}")
    if not stat.S_ISREG(status.st_mode):
        return ImageFacts("unreadable-image", "this is a folder, a pipe or a device, not a file")
    size = image.length if image.length is not None else 0 if image.inside else status.st_size
    if size > LARGEST_FILE_BYTES:
        return ImageFacts(
            "unreadable-image",
            f"{size} bytes is more than {LARGEST_FILE_BYTES}, the most read for one image",
        )
    return None


def examine_bytes(data: bytes) -> ImageFacts:
    """The facts of encoded bytes; decodes them, so that an image cut short is found."""
    if not data:
        return ImageFacts("unreadable-image", "the file is empty: 0 bytes")
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = open_image(data)
        except Exception as error:
            return ImageFacts(
                "unreadable-image", _decode_error_text(data, error), bytes=len(data), digest=digest
            )
        facts = _header_facts(image, data, digest)
        if facts.problem:
            return facts
        try:
            _decode(image)
        except Exception as error:
            return _not_decoded(facts, error)
        facts = replace(facts, look=_look(image), flat_from=_flat_from(image, facts))
    return _cut_at_the_end(facts, data)


def open_image(data: bytes) -> Any:
    # `formats` finds only decoders that are imported, and Image.init() would import all forty.
    from PIL import (
        BmpImagePlugin,  # noqa: F401
        GifImagePlugin,  # noqa: F401
        Image,
        JpegImagePlugin,  # noqa: F401
        PngImagePlugin,  # noqa: F401
        PpmImagePlugin,  # noqa: F401
        TiffImagePlugin,  # noqa: F401
        WebPImagePlugin,  # noqa: F401
    )

    # Our own limit is checked after the header; Pillow's would refuse before the size is known.
    Image.MAX_IMAGE_PIXELS = None
    return Image.open(filesystem.as_stream(data), formats=FORMATS)


def as_rgb(image: Any) -> Any:
    """8-bit RGB. Of 16 bits the high byte is kept, as decoders do; Pillow's `convert` makes all above 255 white.

    Floating-point pixels count from 0 to 1 where none is above 1, and else from 0 to 255.
    """
    if image.mode.startswith("I"):
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    elif image.mode == "F" and image.getextrema()[1] <= 1:
        image = image.point(lambda value: value * 255).convert("L")
    return image.convert("RGB")


def unsupported_kind(facts: ImageFacts) -> str:
    """What to call a kind that TensorFlow does not decode, or decodes to other colours; nothing for the rest."""
    if facts.format in ("TIFF", "PPM"):
        return facts.format
    if facts.format == "BMP" and facts.mode not in ("L", "RGB", "RGBA"):
        return {"P": "palette BMP", "1": "black-and-white BMP"}.get(facts.mode, "packed BMP")
    if facts.format == "WEBP" and facts.frames > 1:
        return "animated WEBP"
    if facts.format == "WEBP" and facts.mode != "RGB":
        return "transparent WEBP"
    return ""


def _header_facts(image: Any, data: bytes, digest: str) -> ImageFacts:
    width, height, orientation = _frame(image)
    try:
        frames = 1 if image.format in ("MPO", "TIFF") else int(getattr(image, "n_frames", 1))
    except Exception:
        frames = 1
    pixels = width * height
    bomb = pixels > BOMB_PIXELS
    return ImageFacts(
        "decompression-bomb" if bomb else "",
        f"{width}x{height} is {pixels // 1_000_000} megapixels in {len(data)} bytes" if bomb else "",
        width=width,
        height=height,
        format="JPEG" if image.format == "MPO" else str(image.format),
        mode=_mode(image, data),
        orientation=orientation,
        frames=frames,
        bytes=len(data),
        digest=digest,
    )


def _frame(image: Any) -> tuple[int, int, int]:
    """Width, height and orientation of the pixels that Pillow gives.

    It turns a TIFF upright while decoding, and only some versions say the size that it will have then.
    """
    orientation = _orientation(image)
    if image.format != "TIFF":
        return *image.size, orientation
    width, height = int(image.tag_v2[256]), int(image.tag_v2[257])
    return (height, width, 1) if orientation >= 5 else (width, height, 1)


def _orientation(image: Any) -> int:
    """EXIF's, from the header. Pillow decodes a whole PNG to look for EXIF behind its pixels, where none puts it."""
    if image.format == "PNG" and not {"exif", "Raw profile type exif"} & set(image.info):
        return 1
    try:
        orientation = int(image.getexif().get(0x0112, 1))
    except Exception:
        return 1
    return orientation if 1 <= orientation <= 8 else 1


def _mode(image: Any, data: bytes) -> str:
    sixteen_bit_png = image.format == "PNG" and len(data) > 24 and data[24] == 16
    if sixteen_bit_png or image.mode.startswith("I"):
        return "I;16"
    if image.format == "BMP" and image.mode in ("L", "RGB", "RGBA") and not _plain_bytes(data):
        return "packed"
    return str(image.mode)


def _plain_bytes(bmp: bytes) -> bool:
    """One byte of grey, or blue, green and red: not 16 bits, runs, an order of its own, or the header of OS/2."""
    header, bits, compression = (
        int.from_bytes(bmp[at:end], "little") for at, end in ((14, 18), (28, 30), (30, 34))
    )
    usual = compression == 0 or (compression == 3 and bmp[54:66] in USUAL_MASKS)
    return header >= 40 and bits in (8, 24, 32) and usual


def _decode(image: Any) -> None:
    if image.format in ("JPEG", "MPO"):
        # An eighth of the size still decodes every coefficient, so a cut is found at a third of the cost.
        image.draft(None, (max(1, image.size[0] // 8), max(1, image.size[1] // 8)))
    image.load()


def _look(image: Any) -> str:
    from PIL import Image

    try:
        plain = image if image.mode in ("L", "RGB") else as_rgb(image)
        small = plain.resize((LOOK, LOOK), Image.Resampling.BOX)
    except Exception:  # a mode that Pillow cannot convert has no look, and no other fault
        return ""
    return str(small.convert("L").tobytes().hex())


def _flat_from(image: Any, facts: ImageFacts) -> int:
    """Where a decoder began to fill: the lower part with the same value in each row and column."""
    height = int(image.size[1])
    if facts.orientation != 1 or height < FEWEST_ROWS or not _is_flat(image, height - 1):
        return 0
    low, high = 0, height - 1  # the lower part is flat from `high` on; of `low` it is not known
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_flat(image, middle) else (middle + 1, high)
    return -(-high * facts.height // height)


def _is_flat(image: Any, row: int) -> bool:
    try:
        extrema = image.crop((0, row, *image.size)).getextrema()
    except Exception:  # a mode that Pillow cannot compare
        return False
    bands = extrema if isinstance(extrema[0], tuple) else (extrema,)
    return all(most - least <= FLAT for least, most in bands)


def _not_decoded(facts: ImageFacts, error: Exception) -> ImageFacts:
    text = str(error) or type(error).__name__
    cut = "truncated" in text.lower() or "unexpected end" in text.lower() or "not enough" in text.lower()
    return replace(facts, problem="truncated-image" if cut else "unreadable-image", detail=_short(text))


def _cut_at_the_end(facts: ImageFacts, data: bytes) -> ImageFacts:
    """Decoders forgive a missing end marker; other programs do not, and it means that a copy was cut."""
    # Not only in the last bytes: a phone appends a film to a photograph.
    if facts.format == "JPEG" and data.find(b"\xff\xd9", _first_scan(data)) < 0:
        return replace(facts, problem="truncated-image", detail="the end marker of the JPEG is missing")
    if facts.format == "PNG" and b"IEND" not in data:
        return replace(facts, problem="truncated-image", detail="the end chunk of the PNG is missing")
    return facts


def _first_scan(data: bytes) -> int:
    """Where the image itself begins in a JPEG: a thumbnail before it has an end marker of its own."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
        at += 1 if data[at + 1] == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4])
    return min(at, len(data))


def _decode_error_text(data: bytes, error: Exception) -> str:
    if type(error).__name__ == "UnidentifiedImageError" or not data.strip(b"\0"):
        return unrecognised(data)
    return _short(str(error) or type(error).__name__)


def unrecognised(data: bytes) -> str:
    """What bytes are that begin as no image does."""
    start = data[:16]
    if not data:
        return "the file is empty: 0 bytes"
    if start.lstrip().lower().startswith((b"<!doctype", b"<html")):
        return "this is a web page, not an image: the download gave an error page"
    if start.startswith(b"version https://"):
        return "this is a Git LFS pointer, not the image itself: run `git lfs pull`"
    if not data.strip(b"\0"):
        return f"{len(data)} bytes, all of them zero"
    if b"ftypheic" in data[:32] or b"ftypavif" in data[:32]:
        return "HEIC and AVIF images are not read: convert them to JPEG"
    return f"no image format begins with {start[:8]!r}"


def _short(text: str) -> str:
    return text.split("\n")[0][:200]


def upright_size(image: ImageRef) -> tuple[int, int] | None:
    """Width and height after the EXIF orientation, from the header alone; None when it cannot be read."""
    facts = header(image)
    return facts.upright_size if facts is not None else None


def header(image: ImageRef) -> ImageFacts | None:
    """The facts that the first bytes give, without decoding; None when they are not an image's."""
    try:
        if refusal(image) is not None:
            return None
        if image.inside:
            return header_of(image.read())
        limit = image.length if image.length is not None else HEADER_BYTES
        data = filesystem.read_bytes(image.path, image.offset or 0, min(limit, HEADER_BYTES))
        return header_of(data) or (header_of(image.read()) if len(data) == HEADER_BYTES else None)
    except HoldfastError:
        return None


def header_of(data: bytes) -> ImageFacts | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _header_facts(open_image(data), data, "")
        except Exception:
            return None
