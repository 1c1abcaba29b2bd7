"""Parts of a dataset that one tool, camera, person or script may have made: by their names, orientation or number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.data.pixels.look_sample import CloseLook

FEWEST = 6  # images of a part
MOST_PARTS = 60
_WORDS = re.compile(r"[^\W_]+")


def parts_of(looks: Sequence[CloseLook]) -> Iterator[tuple[str, list[int]]]:
    """What to call each part, and the positions of its images: first all, then splits, then smaller ones."""
    yield "all images", list(range(len(looks)))
    yield from _distinct(looks, (*_by_origin(looks), *_by_words(looks), *_by_number(looks)))


def named_parts_of(looks: Sequence[CloseLook]) -> Iterator[tuple[str, list[int]]]:
    """Those that have a name of their own."""
    yield from _distinct(looks, (*_by_origin(looks), *_by_words(looks)))


def _distinct(
    looks: Sequence[CloseLook], parts: Sequence[tuple[str, list[int]]]
) -> Iterator[tuple[str, list[int]]]:
    seen = {frozenset(range(len(looks)))}
    number = 0
    for name, members in parts:
        known = frozenset(members)
        if len(members) >= FEWEST and known not in seen and number < MOST_PARTS:
            seen.add(known)
            number += 1
            yield name, members


def _by_origin(looks: Sequence[CloseLook]) -> Iterator[tuple[str, list[int]]]:
    for split in dict.fromkeys(look.split for look in looks):
        yield f"images of {split}", [at for at, look in enumerate(looks) if look.split == split]
    for turn in sorted({look.orientation for look in looks}):
        yield (
            f"images with EXIF orientation {turn}",
            [at for at, look in enumerate(looks) if look.orientation == turn],
        )


def _by_words(looks: Sequence[CloseLook]) -> Iterator[tuple[str, list[int]]]:
    """Words in the names of files and their folders: a camera's, an augmentation's, a shard's."""
    words: dict[str, list[int]] = {}
    for at, look in enumerate(looks):
        for word in dict.fromkeys(_WORDS.findall(look.file)):
            words.setdefault(word, []).append(at)
    large = [(word, members) for word, members in words.items() if len(members) < len(looks)]
    for word, members in sorted(large, key=lambda one: -len(one[1])):
        yield f"images with {word!r} in their names", members


def _by_number(looks: Sequence[CloseLook]) -> Iterator[tuple[str, list[int]]]:
    """Where the names are in order: the quarters of the list, and what two or three of them make."""
    order = sorted(range(len(looks)), key=lambda at: natural(looks[at].file))
    quarter = len(order) / 4
    for first in range(4):
        for last in range(first, 4):
            members = order[round(first * quarter) : round((last + 1) * quarter)]
            if members:
                yield f"images from {looks[members[0]].file} to {looks[members[-1]].file}", members


def natural(name: str) -> list[tuple[int, str]]:
    """An order in which img_9 is before img_10."""
    return [
        (int(part) if part.isdigit() and part.isascii() else 0, part) for part in re.split(r"(\d+)", name)
    ]
