"""An image made plain: upright, one frame, 8-bit RGB, in a format that training decodes."""

from __future__ import annotations

import io
import warnings

from holdfast.data.images.image_file import ImageFacts, as_rgb, open_image, unsupported_kind
from holdfast.data.records import ImageRef

JPEG_QUALITY = 95
_PLAIN_MODES = frozenset(("RGB", "L"))  # grey is read as RGB everywhere


def why_not_plain(facts: ImageFacts) -> list[tuple[str, str]]:
    """Findings and details; none where the image is plain already."""
    reasons: list[tuple[str, str]] = []
    if facts.orientation != 1:
        reasons.append(("exif-rotated", f"turned upright from orientation {facts.orientation}"))
    odd = unsupported_kind(facts)
    if odd:
        reasons.append(("undecoded-kind", f"{odd} to PNG"))
    elif facts.frames > 1:
        reasons.append(("unsupported-mode", f"the first of {facts.frames} frames"))
    elif facts.mode not in _PLAIN_MODES:
        reasons.append(("unsupported-mode", f"{facts.mode} to RGB"))
    return reasons


def upright_rgb(image: ImageRef, facts: ImageFacts) -> tuple[bytes, str]:
    """New bytes of an image that is not plain, and their extension."""
    from PIL import ImageOps

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pixels = open_image(image.read())
        pixels.seek(0)
        pixels = as_rgb(ImageOps.exif_transpose(pixels))
        out = io.BytesIO()
        lossy = facts.format == "JPEG"
        if lossy:
            pixels.save(out, "JPEG", quality=JPEG_QUALITY, subsampling=0)
        else:
            pixels.save(out, "PNG")
    return out.getvalue(), ".jpg" if lossy else ".png"
