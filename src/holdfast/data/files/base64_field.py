"""An image inside a JSON file, as base64: labelme's imageData."""

from __future__ import annotations

import base64
import json
import re

from holdfast.data.files import text_encoding
from holdfast.errors import UnreadableAnnotation


def decode_image(document: bytes, key: str, path: str) -> bytes:
    """The encoded image under `key` of a JSON document."""
    try:
        text = json.loads(text_encoding.text(document))[key]
        return base64.b64decode(re.sub(r"^data:[^,]*,", "", text))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnreadableAnnotation(f"its {key} is not an image in base64", where=path) from None
