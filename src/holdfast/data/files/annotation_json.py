"""The JSON that annotates one image, perhaps with the image or bitmaps inside it, as base64."""

from __future__ import annotations

import json
from typing import Any

from holdfast.data.files import filesystem, text_encoding

LARGEST_BYTES = 256 << 20


def read_bounded(file: str) -> bytes:
    """Its bytes; ValueError where there are too many."""
    data = filesystem.read_bytes(file, 0, LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise ValueError("the JSON file is larger than 256 MiB")
    return data


def document_of(data: bytes, program: str, listed: str) -> dict[str, Any]:
    """The object with the list that this program writes; ValueError says why it is none."""
    try:
        document = json.loads(text_encoding.text(data))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"this is not JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get(listed), list):
        raise ValueError(f'this is not {program}\'s JSON: it has no list called "{listed}"')
    return document
