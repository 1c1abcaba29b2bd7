"""Names that are another's by mistake, and names that only look so."""

from __future__ import annotations

import pytest

from holdfast.data.checking.class_names import misread, misspelled, name_problems, one_slip


def found(counts: dict[str, int], declared: dict[str, int] | None = None) -> list[tuple[str, str]]:
    return [(one.finding, one.detail) for one in name_problems(counts, declared or {}, "d")]


def test_a_rare_slip_beside_the_right_name() -> None:
    counts = {"screw": 40, "scerw": 1, "srew": 2, "scrrew": 1, "zcrew": 3, "washer": 30}
    assert misspelled(counts) == {"scerw": "screw", "srew": "screw", "scrrew": "screw", "zcrew": "screw"}
    assert found({"screw": 40, "srew": 2}) == [
        ("misspelled-class", "'srew' (2 boxes) beside 'screw' (40 boxes)")
    ]


@pytest.mark.parametrize(
    "counts",
    [
        {"bolt_m4": 100, "bolt_m5": 2},  # two sizes
        {"cat": 100, "car": 2},  # short names differ by a letter
        {"screws": 20, "screw": 5},  # not so rare
        {"screw": 100, "washer": 1},
        {"level1": 50, "level11": 1},
        {"bus": 100, "buses": 5},
        {"valve_L": 60, "valve_R": 5},
        {"grade A apple": 60, "grade B apple": 2},
        {"stage_II": 60, "stage_III": 2},
        {"male_cyclist": 60, "female_cyclist": 2},
        {"ripe_tomato": 60, "unripe_tomato": 2},
        {"ESP8266": 60, "ESP32": 2, "ESP8285": 1},
        {"Airbus_A320": 60, "Airbus_A330": 2},
        {"audi_2011": 60, "audi_2001": 2},
        {"part_1001": 60, "part_1011": 2, "part_1003": 40},
    ],
)
def test_names_that_are_meant(counts: dict[str, int]) -> None:
    assert misspelled(counts) == {}


def test_slips_in_long_names_and_numbers() -> None:
    counts = {"Arduino_Nano": 24, "Raspberry_Pi_3": 15, "ESP8266": 21, "Rasberry_Pi_3": 3, "ESP8226": 1,
              "esp8266": 2, "Arduno_Nanno": 1, "Heltec_ESP32": 22}  # fmt: skip
    assert misspelled(counts) == {
        "Rasberry_Pi_3": "Raspberry_Pi_3", "ESP8226": "ESP8266", "Arduno_Nanno": "Arduino_Nano"}  # fmt: skip
    assert misspelled({"bearing6204": 40, "bearing6024": 1}) == {"bearing6024": "bearing6204"}
    assert misspelled({"bicycle": 55, "bycicle": 2}) == {"bycicle": "bicycle"}
    assert misspelled({"screwdriver": 4, "screwdrivr": 1}) == {"screwdrivr": "screwdriver"}


def test_one_slip() -> None:
    assert one_slip("screw", "Screws")
    assert one_slip("scerw", "screw")
    assert not one_slip("screw", "SCREW")
    assert not one_slip("screw", "wrecs")
    assert not one_slip("screw", "")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SchlÃ¼ssel", "Schlüssel"),
        ("Ã©tÃ©", "été"),
        ("æ–‡å\xad—", "文字"),
        ("Schlüssel", None),
        ("Straße", None),
        ("screw", None),
        ("文字", None),
        ("Ångström", None),
    ],
)
def test_misread(name: str, meant: str | None) -> None:
    assert misread(name) == meant


def test_the_background_has_boxes() -> None:
    listed = {"background": 0, "cat": 1, "dog": 2}
    assert found({"background": 30, "cat": 9}, listed) == [
        ("class-id-off-by-one", "'background' has 30 boxes, and the last class, 'dog', has none")
    ]
    assert found({"background": 30, "dog": 9}, listed) == [("background-boxes", "'background' has 30 boxes")]
    assert found({"cat": 30, "dog": 9}, listed) == []
