"""Listings of which nothing fits into memory give the same results, and workers do not get them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.files import name_index, packed_list
from holdfast.data.formats import WRITABLE_FORMATS
from holdfast.data.reading import detect_format
from holdfast.data.reading.load import parse_all, read
from holdfast.data.synthetic import make_dataset
from holdfast.data.tables import row_groups
from holdfast.data.writing.convert import convert
from holdfast.data.writing.repair import repair


@pytest.fixture
def nothing_fits(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(packed_list, "TOGETHER", 3)
    monkeypatch.setattr(packed_list, "IN_MEMORY_BYTES", 16)
    monkeypatch.setattr(name_index, "BLOCK", 5)
    monkeypatch.setattr(row_groups, "BLOCK", 5)
    return monkeypatch


def results(folder: Path, out: Path) -> dict[str, bytes]:
    """Of a check, a repair and conversions to all formats, by name."""
    report, _ = check([DatasetPart(str(folder))], use_cache=False)
    found = {"check": json.dumps(report.as_json()).encode()}
    repair(str(folder), str(out / "repaired"))
    for format in WRITABLE_FORMATS:
        convert(str(out / "repaired"), str(out / format), format)
        again, _ = check([DatasetPart(str(out / format))], use_cache=False)
        found[f"check {format}"] = json.dumps(again.as_json()).encode().replace(str(out).encode(), b"OUT")
    files = (path for path in sorted(out.rglob("*")) if path.is_file())
    return found | {
        str(path.relative_to(out)): path.read_bytes().replace(str(out).encode(), b"OUT") for path in files
    }


def test_the_results_are_the_same(tmp_path: Path, nothing_fits: pytest.MonkeyPatch) -> None:
    make_dataset(tmp_path / "data", count=30, side=64, dirt=True)
    on_disk = results(tmp_path / "data", tmp_path / "on disk")
    nothing_fits.undo()
    in_memory = results(tmp_path / "data", tmp_path / "in memory")
    assert on_disk.keys() == in_memory.keys()
    assert [name for name in on_disk if on_disk[name] != in_memory[name]] == []


@pytest.mark.parametrize("format", WRITABLE_FORMATS)
def test_a_worker_parses_entries_without_the_listing(tmp_path: Path, format: str) -> None:
    sizes = []
    for count in (5, 50):
        make_dataset(tmp_path / f"made-{count}", count=count, side=64)
        target = str(tmp_path / f"{format}-{count}")
        convert(str(tmp_path / f"made-{count}"), target, format)
        source = detect_format.open_sources(target)[0]
        beside: list[pickle.PickleBuffer] = []
        sent = pickle.dumps(source.for_workers(), protocol=5, buffer_callback=beside.append)
        worker = pickle.loads(sent, buffers=beside)
        here = [parsed.record for parsed in parse_all(source)]
        entries = [*source.entries(), *source.negatives(source.folder_images)][: len(here)]
        assert [worker.parse(entry).record for entry in entries] == here
        assert len(here) == count == len(read(target).records)
        sizes.append(len(sent))
    assert sizes[1] - sizes[0] < 20
