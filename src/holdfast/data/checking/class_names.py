"""Class names that are another's by mistake: misspelled by hand, misread by a program, or one place off in a list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from holdfast.data.dataset_reader import Problem

#: A name that is typed wrongly is rare beside the right one; where both are usual, both are meant.
RARE = 5
TIMES_RARER = 10
LEAST_TIMES = 4  # times rarer, of a long name
LONG = 9  # letters
SHORTEST = 5  # "cat" and "car" are two animals of one letter's difference
LONG_NUMBER = 4  # digits
_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"(19|20)\d\d")
_WORDS = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
_VARIANT = re.compile(r"[^\W\d_]|[ivxIVX]+")
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
    """Rare names that are a slip of the hand from a frequent one, and that one."""
    found: dict[str, str] = {}
    frequent = sorted((name for name in counts if counts[name] >= LEAST_TIMES), key=lambda one: -counts[one])
    known = {name.casefold() for name in counts if counts[name]}
    families = Counter(_NUMBER.sub("#", name) for name in known)
    for name, count in counts.items():
        if 0 < count <= RARE:
            alike = (
                other
                for other in frequent
                if counts[other] >= _times_rarer(name) * count
                and (one_slip(name, other) or two_slips(name, other) or _in_number(name, other, families))
            )
            right = next(alike, None)
            if right is not None:
                found[name] = right
    return found


def _times_rarer(name: str) -> int:
    """Of long names fewer are a slip from each other and meant."""
    return LEAST_TIMES if len(name) >= LONG else TIMES_RARER


def one_slip(one: str, other: str) -> bool:
    """A letter too many, too few or wrong, or two exchanged. Digits are no slips: m4 and m5 are two screws."""
    if max(len(one), len(other)) < SHORTEST or _variants(one, other):
        return False
    return _slips(one.casefold(), other.casefold(), 1)


def two_slips(one: str, other: str) -> bool:
    """Two slips at two places of a long name. Two letters together are a word's beginning or end: male and female."""
    if min(len(one), len(other)) < LONG or _variants(one, other):
        return False
    return _slips(one.casefold(), other.casefold(), 2)


def _slips(one: str, other: str, allowed: int) -> bool:
    """Exactly so many slips, each with letters that agree before the next."""
    first = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    a, b = one[first:], other[first:]
    if not a and not b:
        return False
    ways = [(a[1:], b, a[:1]), (a, b[1:], b[:1]), (a[1:], b[1:], a[:1] + b[:1])]
    if len(a) >= 2 and a[:2] == b[1::-1]:
        ways.append((a[2:], b[2:], a[:2]))
    if len(a) >= 3 and a[:3] == b[2::-1]:  # bycicle
        ways.append((a[3:], b[3:], a[:3]))
    for left, right, changed in ways:
        if not changed.isalpha():
            continue
        if allowed == 1 and left == right:
            return True
        if allowed > 1 and left[:1] == right[:1] != "" and _slips(left, right, allowed - 1):
            return True
    return False


def _variants(one: str, other: str) -> bool:
    """Names that differ in a word of one letter or a Roman number: valve_L and valve_R, stage II and III."""
    some, others = (_WORDS.findall(name) for name in (one, other))
    differ = [pair for pair in zip(some, others, strict=False) if pair[0].casefold() != pair[1].casefold()]
    if len(some) != len(others):
        return any(_VARIANT.fullmatch(word) for word in set(some) ^ set(others))
    return any(_VARIANT.fullmatch(word) for pair in differ for word in pair)


def _in_number(one: str, other: str, families: Mapping[str, int]) -> bool:
    """A digit typed twice in place of the next, or two exchanged, in a long number that no third name has instead.

    ESP8226 is ESP8266 mistyped; A320 and A330 are two aeroplanes, and 2012 and 2013 two years.
    """
    one, other = one.casefold(), other.casefold()
    if len(one) != len(other) or families[_NUMBER.sub("#", other)] > 2:
        return False
    apart = [at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    run = next(
        (found for found in _NUMBER.finditer(other) if apart and found.start() <= apart[0] < found.end()),
        None,
    )
    if run is None or len(run[0]) < LONG_NUMBER or _YEAR.fullmatch(run[0]):
        return False
    if len(apart) == 2:
        first, second = apart
        return second == first + 1 < run.end() and one[first] == other[second] and one[second] == other[first]
    if len(apart) != 1:
        return False
    at = apart[0]
    return (
        one[at].isdigit()
        and one[at] in one[max(run.start(), at - 1) : at] + one[at + 1 : min(run.end(), at + 2)]
    )


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
