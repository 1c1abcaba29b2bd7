"""A pack: small copies with the same truth, a key that holds all that changes them, and nothing needed of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.data import made
from tests.pipeline.rectangles import dataset_of, random_rectangles
from tests.waiting import PATIENCE_S

from holdfast.data.records import ImageRef, Record
from holdfast.pipeline import dataset_columns, pack, packing
from holdfast.pipeline.feed import Augment, Feed
from holdfast.pipeline.image_sizes import packed_sizes, whole_image_ratios

FEED = Feed(height=100, width=100, batch=4)
ROOMY = 1 << 30


def large_and_small(folder_of: Callable) -> dataset_columns.Columns:
    large = folder_of(random_rectangles(5, seed=1, sides=(500, 900)), ".jpg", 6, "large")
    small = folder_of(random_rectangles(3, seed=2, sides=(80, 110)), ".jpg", 1, "small")
    return dataset_columns.columns_of(dataset_of([*large.records, *small.records]))


def test_the_size_is_what_the_largest_enlargement_needs(folder_of: Callable) -> None:
    data = dataset_columns.columns_of(
        folder_of([(1000, 500, (0, 0, 9, 9), "red"), (90, 60, (0, 0, 9, 9), "red")], ".jpg")
    )
    assert packed_sizes(data, FEED).tolist() == [[100, 50], [90, 60]]
    assert packed_sizes(data, replace(FEED, fit="stretch")).tolist() == [[200, 100], [90, 60]]
    assert packed_sizes(data, replace(FEED, augment=Augment(scale=(0.5, 2.0)))).tolist() == [
        [200, 100],
        [90, 60],
    ]
    assert packed_sizes(data, replace(FEED, augment=Augment(crop=0.5, crop_least=0.25))).tolist() == [
        [400, 200],
        [90, 60],
    ]
    assert whole_image_ratios(data, FEED).tolist() == [8, 1]
    assert whole_image_ratios(
        data, replace(FEED, augment=Augment(mosaic=0.1, mosaic_least=0.5))
    ).tolist() == [4, 1]


def test_only_what_is_far_too_large_is_packed_and_a_second_call_finds_it(
    folder_of: Callable, tmp_path: Path
) -> None:
    data = large_and_small(folder_of)
    job = pack.plan_pack(data, FEED, ROOMY)
    assert [item.row for item in job.items] == [0, 1, 2, 3, 4]
    folder = packing.make_pack(job, tmp_path / "cache")
    assert folder is not None
    packed = pack.read(folder)
    assert packed is not None and packed.rows.tolist() == [0, 1, 2, 3, 4]
    assert packed.sizes.max(axis=1).tolist() == [100] * 5
    assert packed.lengths.sum() < data.lengths[:5].sum()
    written = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert packing.make_pack(job, tmp_path / "cache") == folder
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == written
    assert packing.make_pack(pack.PackJob((), ROOMY), tmp_path / "cache") is None


def test_the_key_changes_with_the_sizes_and_the_images(folder_of: Callable) -> None:
    data = large_and_small(folder_of)
    keys = {
        pack.plan_pack(data, feed, budget).key
        for feed, budget in ((FEED, ROOMY), (replace(FEED, width=120), ROOMY), (FEED, ROOMY // 2),
                             (replace(FEED, augment=Augment(scale=(1.0, 1.5))), ROOMY))
    }  # fmt: skip
    os.utime(data.paths[0], ns=(1, 1))
    keys.add(pack.plan_pack(data, FEED, ROOMY).key)
    assert len(keys) == 4  # two feeds more, a changed image; the budget changes how many, not what
    assert pack.plan_pack(data, replace(FEED, seed=9, batch=1), ROOMY).key in keys


def test_a_copy_of_sixteen_bits_is_no_whiter_than_the_image(tmp_path: Path) -> None:
    from PIL import Image

    path = tmp_path / "a.png"
    path.write_bytes(made.sixteen_bits(400, 300))
    data = dataset_columns.columns_of(dataset_of([Record("a", "a.png", ImageRef(str(path)))]))
    packed = pack.read(packing.make_pack(pack.plan_pack(data, FEED, ROOMY), tmp_path / "cache"))
    assert packed is not None and packed.sizes.tolist() == [[100, 75]]
    copy = np.asarray(Image.open(packed.paths[0])).astype(int)
    expected = np.asarray(made.high_bytes(400, 300).resize((100, 75), Image.Resampling.BICUBIC)).astype(int)
    assert np.abs(copy - expected).max() <= 3  # JPEG's


def test_a_budget_is_kept(folder_of: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "SHARD_IMAGES", 2)
    data = large_and_small(folder_of)
    whole = pack.read(packing.make_pack(pack.plan_pack(data, FEED, ROOMY), tmp_path / "whole"))
    two_shards = int(whole.lengths[:4].sum())
    folder = packing.make_pack(pack.plan_pack(data, FEED, two_shards), tmp_path / "tight")
    assert pack.read(folder).rows.tolist() == [0, 1, 2, 3]
    assert sum(path.stat().st_size for path in folder.glob("*.jpgs")) == two_shards


def test_killed_in_the_middle_it_goes_on_and_a_torn_one_is_not_used(
    folder_of: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "SHARD_IMAGES", 2)
    data = large_and_small(folder_of)
    job = pack.plan_pack(data, FEED, ROOMY)
    expected = pack.read(packing.make_pack(job, tmp_path / "whole"))
    folder = packing.make_pack(job, tmp_path / "cache")
    (
        folder / "index.json"
    ).unlink()  # as if killed before the end: one shard committed, one torn, one missing
    (folder / "shard-00001.jpgs").write_bytes(b"torn")
    (folder / "shard-00002.jpgs").unlink()
    assert pack.read(folder) is None
    kept = (folder / "shard-00000.jpgs").stat().st_mtime_ns
    found = pack.read(packing.make_pack(job, tmp_path / "cache"))
    assert (folder / "shard-00000.jpgs").stat().st_mtime_ns == kept
    assert (
        found.rows.tolist() == expected.rows.tolist() and found.lengths.tolist() == expected.lengths.tolist()
    )
    (folder / "shard-00001.jpgs").write_bytes(b"torn later")
    assert pack.read(folder) is None


def test_what_a_killed_one_did_not_finish_is_removed_and_what_another_writes_now_is_not(
    folder_of: Callable, tmp_path: Path
) -> None:
    job = pack.plan_pack(large_and_small(folder_of), FEED, ROOMY)
    folder = packing.write_job(job, tmp_path)
    killed, writing = (folder / f".shard-00000.jpgs.{digit * 16}.part" for digit in "ab")
    for file, at in ((killed, 1), (writing, 2**33)):
        file.write_bytes(b"half")
        os.utime(file, (at, at))
    assert packing.make_pack(job, tmp_path) == folder
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == [writing.name]


def test_beside_a_run_it_is_a_process_of_its_own(folder_of: Callable, tmp_path: Path) -> None:
    job = pack.plan_pack(large_and_small(folder_of), FEED, ROOMY)
    process = packing.start_in_background(job, tmp_path)
    assert process is not None and process.wait(PATIENCE_S) == 0
    packed = pack.read(tmp_path / f"pack-{job.key}")
    assert packed is not None and len(packed.rows) == 5


def packed_by_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    from holdfast.cli.main import main

    assert main(["data", "pack", *arguments, "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_the_command_packs_what_training_of_the_recipe_looks_for(
    folder_of: Callable, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast import settings
    from holdfast.train import dataset_setup

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder_of(random_rectangles(6, sides=(900, 1000)), ".jpg", name="pictures")
    source = tmp_path / "pictures"
    rows = ["filename,class,xmin,ymin,xmax,ymax"]
    rows += [f"{number:04d}.jpg,red,1,2,30,40" for number in range(6)]
    (source / "labels.csv").write_text("\n".join(rows) + "\n")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'[data]\ntrain = "{source}"\nvalidation_fraction = 0.34\naugment = "light"\n[model]\ninput = 100\n'
    )
    result = packed_by_command([str(recipe), "--budget", "1GiB"], capsys)
    assert (result["packed"], result["images"], result["zoom_most"]) == (4, 4, 1.25)
    assert 0 < result["bytes"] < result["source_bytes"] and result["found_by_training"]
    made = settings.read(recipe)
    trained = dataset_columns.columns_of(dataset_setup.load_splits(made).train)
    found = dataset_setup.find_pack(trained, dataset_setup.build_feed(made))
    assert found is not None and str(tmp_path / "cache") in found.paths[0]
    longest = found.sizes.max(axis=1).tolist()
    assert all(
        125 <= side <= 140 for side in longest
    )  # 100 px, enlarged by up to 1.25, the aspect kept or not
    none = replace(dataset_setup.build_feed(made), augment=Augment())
    assert dataset_setup.find_pack(trained, none) is None  # another augmentation is another pack
    elsewhere = packed_by_command([str(recipe), "--cache", str(tmp_path / "other")], capsys)
    assert not elsewhere["found_by_training"]


def test_sizes_of_a_budget() -> None:
    from holdfast.cli.data import pack_command as data_pack
    from holdfast.errors import UsageError

    assert data_pack.bytes_of("1.5GiB") == 3 * 2**29 and data_pack.bytes_of("500 MB") == 500_000_000
    with pytest.raises(UsageError, match="'much' is not a size"):
        data_pack.bytes_of("much")


@pytest.mark.hot
def test_a_stream_reads_the_pack_from_its_epoch_on_and_the_boxes_stay_on_their_pixels(
    folder_of: Callable, tmp_path: Path
) -> None:
    from tests.pipeline.test_augment_oracle import misfits

    from holdfast.pipeline.stream import Stream

    data = large_and_small(folder_of)
    feed = replace(FEED, augment=Augment(flip=0.5, scale=(0.7, 1.4)))
    folder = packing.make_pack(pack.plan_pack(data, feed, ROOMY), tmp_path / "cache")
    stream = Stream(data, feed, packed=pack.read(folder, from_epoch=1))
    plain = Stream(data, feed)
    whole = [batch for _, batch in zip(range(6), stream.batches(), strict=False)]
    originals = [batch for _, batch in zip(range(6), plain.batches(), strict=False)]
    for step, (ours, theirs) in enumerate(zip(whole, originals, strict=True)):
        assert np.array_equal(ours["image"], theirs["image"])
        if step < 2:
            assert np.array_equal(ours["images"], theirs["images"])
        else:
            assert np.abs(ours["boxes"] - theirs["boxes"]).max() < 1.5
            assert not np.array_equal(ours["images"], theirs["images"])
            assert np.abs(ours["images"].astype(int) - theirs["images"].astype(int)).mean() < 6
    assert max(misfits(stream, 6)) <= 1.5
    for image in range(5):
        Path(data.paths[image]).unlink()  # from epoch 1 on nobody reads them
    again = Stream(data, feed, packed=pack.read(folder, from_epoch=1))
    assert np.array_equal(next(again.batches(3))["images"], whole[3]["images"])


@pytest.mark.hot
def test_a_packed_image_of_sixteen_bits_is_as_bright_as_tensorflow_decodes_it(tmp_path: Path) -> None:
    from holdfast.pipeline.stream import Stream

    path = tmp_path / "a.png"
    path.write_bytes(made.sixteen_bits(400, 300))
    data = dataset_columns.columns_of(dataset_of([Record("a", "a.png", ImageRef(str(path)))]))
    feed = replace(FEED, batch=1)
    folder = packing.make_pack(pack.plan_pack(data, feed, ROOMY), tmp_path / "cache")
    stream = Stream(data, feed, packed=pack.read(folder, from_epoch=1))
    original, copy = (
        batch["images"].astype(int) for _, batch in zip(range(2), stream.batches(), strict=False)
    )
    assert 70 < original.mean() < 130  # half grey from 0 to 255, and the fill
    assert np.abs(original - copy).max() <= 4


@pytest.mark.hot
def test_a_pack_made_beside_the_stream_is_read_from_the_next_epoch_on_and_resuming_is_exact(
    folder_of: Callable, tmp_path: Path
) -> None:
    from tests.pipeline.test_stream import first, same

    from holdfast.pipeline.stream import Stream

    data = large_and_small(folder_of)  # 8 images in batches of 4: two steps an epoch
    feed = replace(FEED, seed=3, augment=Augment(flip=0.5))
    told: list[tuple[int, int]] = []
    beside = packing.BackgroundPack(pack.plan_pack(data, feed, ROOMY), tmp_path / "cache")
    stream = Stream(data, feed, beside=beside, on_packed=lambda *what: told.append(what))
    batches = stream.batches()
    begun = [next(batches)]
    assert stream.state(1)["packed_from_epoch"] is None
    beside._process.wait(timeout=PATIENCE_S)
    begun += first(6, batches)
    assert told == [(5, 1)]
    assert stream.state(7)["packed_from_epoch"] == 1
    plain = first(7, Stream(data, feed).batches())
    made = pack.read(beside._folder, from_epoch=1)
    resumed = first(4, Stream(data, feed, packed=made).batches(3))
    assert same(begun[:2], plain[:2])
    assert not same(begun[2:], plain[2:])
    assert same(begun[3:], resumed)


def test_a_pack_that_is_stopped_with_the_run_is_gone_on_with(folder_of: Callable, tmp_path: Path) -> None:
    job = pack.plan_pack(large_and_small(folder_of), FEED, ROOMY)
    beside = packing.BackgroundPack(job, tmp_path / "cache")
    beside.stop()
    beside.stop()
    again = packing.BackgroundPack(job, tmp_path / "cache")
    again._process.wait(timeout=PATIENCE_S)
    found = again.ready()
    assert found is not None and found.rows.tolist() == [0, 1, 2, 3, 4]
    assert again.ready() is None
