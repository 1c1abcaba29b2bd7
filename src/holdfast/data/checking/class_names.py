"""Class names that are another's by mistake: misspelled by hand, misread by a program, or one place off in a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.data.dataset_reader import Problem

#: A name that is typed wrongly is rare beside the right one; where both are usual, both are meant.
RARE = 5
TIMES_RARER = 10
SHORTEST = 5  # "cat" and "car" are two animals of one letter's difference
_BACKGROUND = frozenset(("background", "__background__", "_background_", "__ignore__"))


def name_problems(counts: Mapping[str, int], declared: Mapping[str, int], path: str) -> Iterator[Problem]:
    """What the names of the classes and the number of their boxes give away."""
    for wrong, right in sorted(misspelled(counts).items()):
        said = f"{wrong!r} ({_boxes(counts[wrong])}) beside {right!r} ({_boxes(counts[right])})"
        yield Problem("misspelled-class", path, said)
    for name in sorted({*counts, *declared}):
        meant = misread(name)
        if meant is not None:
            both = f", which is here too ({_boxes(counts[meant])})" if counts.get(meant) else ""
            yield Problem("misread-text", path, f"{name!r} is {meant!r}{both}")
    yield from _background(counts, declared, path)


def misspelled(counts: Mapping[str, int]) -> dict[str, str]:
    """Rare names that are one slip of the hand from a frequent one, and that one."""
    found: dict[str, str] = {}
    frequent = sorted((name for name in counts if counts[name] >= TIMES_RARER), key=lambda one: -counts[one])
    for name, count in counts.items():
        if 0 < count <= RARE:
            alike = (
                other for other in frequent if counts[other] >= TIMES_RARER * count and one_slip(name, other)
            )
            right = next(alike, None)
            if right is not None:
                found[name] = right
    return found


def one_slip(one: str, other: str) -> bool:
    """A letter too many, too few or wrong, or two exchanged. Digits are no slips: m4 and m5 are two screws."""
    one, other = one.casefold(), other.casefold()
    if one == other or max(len(one), len(other)) < SHORTEST or abs(len(one) - len(other)) > 1:
        return False
    first = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    a, b = one[first:], other[first:]
    if a[:2] == b[1::-1] and a[2:] == b[2:] and len(a) >= 2 and len(b) >= 2:
        changed = a[:2]
    elif a[1:] == b[1:]:
        changed = a[:1] + b[:1]
    elif a[1:] == b or a == b[1:]:
        changed = a[:1] if a[1:] == b else b[:1]
    else:
        return False
    return changed.isalpha()


def misread(name: str) -> str | None:
    """What a name was before its UTF-8 was taken for Latin-1 or Windows-1252: "SchlÃ¼ssel" was "Schlüssel"."""
    if name.isascii():
        return None
    for encoding in ("cp1252", "latin-1"):
        try:
            meant = name.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        return meant if meant.isprintable() else None
    return None


def _background(counts: Mapping[str, int], declared: Mapping[str, int], path: str) -> Iterator[Problem]:
    """What is no object has boxes: the numbers count the classes without it, and each has the name before its own."""
    for name in sorted(counts):
        if name.casefold() not in _BACKGROUND or not counts[name]:
            continue
        last = max(declared, key=lambda one: declared[one], default="")
        if name in declared and declared[name] == min(declared.values()) and last and not counts.get(last):
            said = f"{name!r} has {_boxes(counts[name])}, and the last class, {last!r}, has none"
            yield Problem("class-id-off-by-one", path, said)
        else:
            yield Problem("background-boxes", path, f"{name!r} has {_boxes(counts[name])}")


def _boxes(count: int) -> str:
    return f"{count} box{'' if count == 1 else 'es'}"
