"""The rows of a table of boxes, one after the other, to what is kept of them on disk."""

from __future__ import annotations

import struct
from collections.abc import Callable

from holdfast.data.dataset_reader import ProblemList
from holdfast.data.files import text_encoding
from holdfast.data.files.name_index import NameNumbers
from holdfast.data.files.packed_list import ByteStore, PackedWriter
from holdfast.data.files.parse_numbers import parse_flag, parse_number, parse_size
from holdfast.data.tables.csv_columns import CsvColumns, NotABox, is_open_images, unquoted
from holdfast.data.tables.csv_file import ROW, CsvFile, CsvRows, ListedName, Step
from holdfast.data.tables.csv_lists import is_list, parse_boxes
from holdfast.data.tables.csv_units import are_fractions, are_percent, count_from_one
from holdfast.data.tables.thousands import without_thousands


class RowReader:
    def __init__(
        self, path: str, columns: CsvColumns, split: str | None, wanted: Callable[[str], bool] | None
    ) -> None:
        self.path = path
        self.wanted = wanted
        self.columns = columns
        self.split = split
        self.images = PackedWriter[ListedName]()
        self.numbers = NameNumbers()  # of the images
        self.newest: tuple[str, str | None, int] = ("", None, -1)
        self.classes: dict[str, int] = {}
        self.rows, self.lost = ByteStore(), ByteStore()
        self.problems = ProblemList(path)
        self.thousands = False  # 1,024 is a thousand
        self.bare_numbers = False  # boxes of which it is not said whether they are two corners
        self.percent = columns.percent
        self.unread: dict[int, set[str]] = {column: set() for column in columns.unread}
        if columns.odd_order and not is_open_images(columns):  # there it is the usual one
            self.problems.add(
                "unusual-column-order", f"the corners come as {columns.odd_order}; read by name"
            )

    def take(self, row: list[str], line: int) -> None:
        if not any(field.strip() for field in row):
            return
        columns = self.columns
        if self.thousands:
            row = without_thousands(row, columns)
        name = unquoted(columns.text(row, columns.file)).strip()
        if not name:
            self.problems.add("unreadable-annotation", f"line {line}: no image is named")
            return
        if self.wanted is not None and not self.wanted(name):
            return
        split = columns.text(row, columns.split).strip().lower() or self.split
        owner = self._image(name, split, row)
        for column, texts in self.unread.items():
            if len(texts) < 20 and parse_number(text := columns.text(row, column).strip()) is None and text:
                texts.add(text)
        if len(columns.box) == 1 and is_list(columns.text(row, columns.box[0])):
            self._take_list(row, owner, line)
            return
        corners = columns.corners(row)
        label = columns.class_name(row)
        if corners is None:
            return  # the way to write a negative: an image and nothing else
        if isinstance(corners, str) or not label.strip():
            said = corners if isinstance(corners, str) else "no class is named"
            slug = "shape-without-box" if isinstance(corners, NotABox) else "unreadable-annotation"
            self._lose(owner, f"line {line}: {said}", slug)
            return
        self.percent = self.percent or any("%" in columns.text(row, column) for column in columns.box)
        field = columns.text(row, columns.box[0]).lstrip()
        self.bare_numbers = self.bare_numbers or (len(columns.box) == 1 and not field.startswith("{"))
        self._add(owner, label, corners, parse_flag(columns.text(row, columns.crowd)))

    def _take_list(self, row: list[str], owner: int, line: int) -> None:
        columns = self.columns
        field = columns.text(row, columns.box[0])
        boxes = parse_boxes(field, columns.text(row, columns.label))
        if isinstance(boxes, str):
            self._lose(owner, f"line {line}: {boxes}")
            return
        self.bare_numbers = self.bare_numbers or "{" not in field
        for box in boxes:
            self._add(owner, box.label or "object", box.corners, crowd=False)

    def _lose(self, owner: int, said: str, slug: str = "unreadable-annotation") -> None:
        self.lost.add(owner.to_bytes(8, "little"))
        self.problems.add(slug, said)

    def _add(self, owner: int, label: str, corners: tuple[float, float, float, float], crowd: bool) -> None:
        slot = self.classes.setdefault(label, len(self.classes))
        self.rows.add(struct.pack(ROW, *corners, owner, slot, crowd))

    def _image(self, name: str, split: str | None, row: list[str]) -> int:
        if self.newest[:2] != (name, split):
            self.newest = name, split, self.numbers.number_of(f"{split or ''}\0{name}")
        position = self.newest[2]
        if position == len(self.images):
            width = parse_size(self.columns.text(row, self.columns.width))
            height = parse_size(self.columns.text(row, self.columns.height))
            self.images.add((name, split, width, height))
        return position

    def finished(self, name: str) -> CsvFile:
        for label in self.classes:
            if text_encoding.DAMAGED in label:
                self.problems.add("damaged-text", f"the class {label!r} has bytes that are not UTF-8")
        self._note_unread()
        if self.thousands:
            self.problems.add("thousands-separators", "numbers of 1000 and more are written as 1,000")
        images = self.images.finished()
        rows = CsvRows(self.rows.view(), self.lost.view(), len(images))
        steps: tuple[Step, ...] = ("percent",) if self.percent and are_percent(rows.corners()) else ()
        return CsvFile(
            name,
            images,
            list(self.classes),
            rows,
            steps,
            fractions=are_fractions(rows.corners(steps)),
            one_based=self.columns.corner_pairs and count_from_one(rows.corners(steps)),
            problems=self.problems.problems(),
            path=self.path,
            plain_corners=self.columns.corner_pairs and not self.percent,
            headerless=not self.columns.has_header,
            one_field=self.columns.named if self.bare_numbers else "",
        )

    def _note_unread(self) -> None:
        """A table without a known column of classes: every box becomes an "object", which must be said."""
        texts = {column: sorted(found) for column, found in self.unread.items() if found}
        if set(self.classes) == {"object"} and texts:
            shown = "; ".join(
                f"{self.columns.header[at]}: {', '.join(found[:3])}" for at, found in texts.items()
            )
            said = f"every box is called 'object'; columns that were not read: {shown[:150]}"
            self.problems.add("class-column-unknown", said)
