"""Thousands separators in a table, and commas that are none."""

from __future__ import annotations

from pathlib import Path

from holdfast.data.formats.csv import columns_of
from holdfast.data.tables.thousands import has_thousands, without_thousands

HEADER = "filename,class,xmin,ymin,xmax,ymax\n"


def found(path: Path, rows: list[str]) -> bool:
    path.write_text(HEADER + "".join(f"a.jpg,cat,{row}\n" for row in rows))
    columns, delimiter = columns_of(str(path)) or (None, "")
    assert columns is not None
    return has_thousands(str(path), columns, delimiter)


def test_numbers_of_a_thousand_and_more(tmp_path: Path) -> None:
    rows = ['12,40,"1,024",300', '500,40,"1,284",371', '"1,100",90,"1,300",250', "5,6,70,80"]
    assert found(tmp_path / "a.csv", rows)
    columns, _ = columns_of(str(tmp_path / "a.csv")) or (None, "")
    assert columns is not None
    row = ["a,100.jpg", "cat", "12", "40", "1,024", "300"]
    assert without_thousands(row, columns) == ["a,100.jpg", "cat", "12", "40", "1024", "300"]


def test_decimal_commas(tmp_path: Path) -> None:
    assert not found(tmp_path / "a.csv", ['"12,5","40,25","102,125","300,5"'] * 9)
    assert not found(tmp_path / "a.csv", ['"0,125","0,250","0,500","0,750"'] * 9)
    assert not found(tmp_path / "a.csv", ["12,40,1024,300"] * 9)
