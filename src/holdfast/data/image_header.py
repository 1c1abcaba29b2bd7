"""Whether bytes begin as an image does. A name says nothing: `id_rsa.jpg` may be a link to a private key.

Wider than what is decoded: a HEIC is an image too, which `check` names and a copy keeps.
"""

from __future__ import annotations

import re

HEAD_BYTES = 512  # a PPM may begin with comments
_SIGNATURES = (
    b"\xff\xd8\xff",  # JPEG
    b"\x89PNG\r\n\x1a\n",
    b"GIF87a",
    b"GIF89a",
    b"II*\0",  # TIFF, and BigTIFF
    b"MM\0*",
    b"II+\0",
    b"MM\0+",
    b"\0\0\0\x0cjP  \r\n\x87\n",  # JPEG 2000
    b"\xff\x4f\xff\x51",
    b"\0\0\0\x0cJXL \r\n\x87\n",  # JPEG XL
)
_BRANDS = frozenset((b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1", b"avif", b"avis"))
_BMP_HEADERS = frozenset((12, 16, 40, 52, 56, 64, 108, 124))  # bytes of the header after the file's own 14
_PPM = re.compile(rb"P(?:[1-6](?:\s|#[^\n]*\n)+\d|F\s+\d|7\s+WIDTH)")


def begins_an_image(head: bytes) -> bool:
    """By the first `HEAD_BYTES`. Text cannot pass: short signatures ask for more than their letters."""
    if head.startswith(_SIGNATURES):
        return True
    if head[:4] == b"RIFF":
        return head[8:12] == b"WEBP"
    if head[4:8] == b"ftyp":
        return head[8:12] in _BRANDS
    if head[:2] == b"BM":
        return int.from_bytes(head[14:18], "little") in _BMP_HEADERS
    return _PPM.match(head) is not None
