"""Numbers that a spreadsheet wrote with thousands separators: "1,024" is a thousand, and not a little more than one."""

from __future__ import annotations

import csv
import io
import re

from holdfast.data.files import filesystem, text_encoding
from holdfast.data.tables.csv_columns import CsvColumns

HEAD_BYTES = 1 << 20
FEWEST = 3  # numbers with a separator
_GROUPED = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_PLAIN = re.compile(r"\d{1,3}(\.\d*)?")


def has_thousands(path: str, columns: CsvColumns, delimiter: str) -> bool:
    """All numbers of 1000 and more have separators, none has another comma, and most are plain and below 1000.

    Decimal commas would be in most numbers, and not always before three digits.
    """
    head = filesystem.read_bytes(path, 0, HEAD_BYTES)
    if b"," not in head or len(columns.box) != 4 or (delimiter == "," and b'"' not in head):
        return False
    text = text_encoding.text(head).rpartition("\n")[0]
    grouped = plain = others = 0
    try:
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            for column in _number_columns(columns):
                field = columns.text(row, column).strip()
                grouped += _GROUPED.fullmatch(field) is not None
                plain += _PLAIN.fullmatch(field) is not None
                others += field[:1].isdigit() and not (_GROUPED.fullmatch(field) or _PLAIN.fullmatch(field))
    except csv.Error:
        return False
    return grouped >= FEWEST and plain >= grouped and not others


def without_thousands(row: list[str], columns: CsvColumns) -> list[str]:
    """The row with plain numbers."""
    numbers = _number_columns(columns)
    return [
        field.replace(",", "") if at in numbers and _GROUPED.fullmatch(field.strip()) else field
        for at, field in enumerate(row)
    ]


def _number_columns(columns: CsvColumns) -> frozenset[int]:
    return frozenset(column for column in (*columns.box, columns.width, columns.height) if column is not None)
