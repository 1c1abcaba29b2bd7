"""Names that differ only in their numbers, in the order of these."""

from __future__ import annotations

import random
import re

import pytest

from holdfast.data.checking import name_series
from holdfast.data.checking.name_series import by_number, series_of


def ordered(names: list[str]) -> list[list[str]]:
    return [[names[at] for at in members] for members in series_of(names)]


@pytest.mark.parametrize("at_once", [1 << 12, 4])
def test_series_and_their_order(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_series, "SORTED_AT_ONCE", at_once)
    frames = [f"b/img_{n}.jpg" for n in range(120)]
    others = [f"a/{n:03d}-{n % 3}.png" for n in range(50)]
    mixed = frames + others
    random.Random(2).shuffle(mixed)
    found = ordered(["b/img_5_x.jpg", "b/img_1000.jpg", *mixed, "cover.jpg"])
    assert found == [[*frames, "b/img_1000.jpg"], others]


def test_the_order_of_numbers() -> None:
    written = ["0", "00", "1", "01", "7", "007", "10", "0010", "99", "100", "9" * 5000, "1" + "0" * 5000, "٣"]
    names = [f"{folder}/v{number}.jpg" for folder in (2, 10) for number in written]
    assert sorted(names, key=by_number) == sorted(names, key=as_numbers)


def as_numbers(name: str) -> list[tuple[int, str]]:
    return [
        (int(part[:3]) * 10 ** len(part[3:]) if part.isascii() else 0, part)
        for part in re.findall(r"\d+", name)
    ]
