"""Letters of another alphabet that look like Latin ones, in a name that is Latin otherwise: a "c" typed as Cyrillic."""

from __future__ import annotations

import unicodedata

#: Cyrillic and Greek letters, and the Latin ones that look the same.
_CYRILLIC = dict(zip("асеорхуіјѕԁһӏԛԝАВЕКМНОРСТХЅІЈУ", "aceopxyijsdhlqwABEKMHOPCTXSIJY", strict=True))
_GREEK = dict(zip("ονΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ovABEZHIKMNOPTYX", strict=True))
LOOK_ALIKE = {**_CYRILLIC, **_GREEK}


def without_strange_letters(name: str) -> str:
    """Latin throughout, if the name is Latin but for letters that look so; else as it is."""
    if name.isascii() or not any(_is_latin(letter) for letter in name):
        return name
    if any(letter.isalpha() and not _is_latin(letter) and letter not in LOOK_ALIKE for letter in name):
        return name
    return "".join(LOOK_ALIKE.get(letter, letter) for letter in name)


def strange_letters(name: str) -> str:
    """Which letters of a name only look Latin, and which characters of it cannot be seen; nothing for others."""
    strange = (
        [letter for letter in name if letter in LOOK_ALIKE] if without_strange_letters(name) != name else []
    )
    strange += [letter for letter in name if unicodedata.category(letter) == "Cf"]
    shown = ", ".join(
        f"U+{ord(letter):04X} {unicodedata.name(letter, '').lower()}" for letter in dict.fromkeys(strange)
    )
    return f" with {shown}" if shown else ""


def _is_latin(letter: str) -> bool:
    return letter.isalpha() and unicodedata.name(letter, "").startswith("LATIN")
