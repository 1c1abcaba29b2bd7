"""Letters that only look Latin."""

from __future__ import annotations

from holdfast.data.checking.look_alike_letters import strange_letters, without_strange_letters
from holdfast.data.checking.statistics import near_duplicates


def test_a_cyrillic_letter_in_a_latin_word() -> None:
    assert without_strange_letters("\u0441ar") == "car"
    assert strange_letters("\u0441ar") == " with U+0441 cyrillic small letter es"
    assert near_duplicates({"car", "\u0441ar", "bus"}) == [["car", "\u0441ar"]]
    assert near_duplicates({"car", "c\u200bar"}) == [["car", "c\u200bar"]]


def test_other_alphabets_are_what_they_are() -> None:
    for name in (
        "car",
        "\u0440\u043e\u0442",
        "Zitrone_s\u00fc\u00df",
        "\u043c\u0430\u0448\u0438\u043d\u0430 A",
        "\u308a\u3093\u3054",
    ):
        assert without_strange_letters(name) == name
    assert near_duplicates({"pot", "\u0440\u043e\u0442"}) == []
