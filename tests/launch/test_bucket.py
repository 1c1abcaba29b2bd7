"""Checkpoints and data in a real object store on loopback that fails, dawdles and cuts answers short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.data.files import cloud_copy
from holdfast.data.synthetic import make_dataset
from holdfast.errors import AlreadyThere, DiskFull, FileError, HoldfastError, PathMissing, PermissionRefused
from holdfast.journal import events as ev
from holdfast.launch.jobs import cloud_check
from holdfast.pipeline import dataset_columns, pack, packing
from holdfast.report.text import render_error
from holdfast.settings import resolve
from holdfast.train import dataset_setup
from holdfast.train.checkpoint import bucket_copy, checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import Snapshot
from tests.launch import faulty_bucket
from tests.launch.faulty_bucket import Fault, Store
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.hot

gcsfs = pytest.importorskip("gcsfs")
pytest.importorskip("gcp_storage_emulator")


@pytest.fixture(scope="module")
def server() -> Iterator[Store]:
    with faulty_bucket.running("runs") as store:
        yield store


@pytest.fixture
def store(server: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Store]:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cloud_copy, "PAUSE_S", 0.01)
    gcsfs.GCSFileSystem.clear_instance_cache()
    server.faults, server.done = [], type(server.done)()
    yield server
    server.faults = []


def on_media(method: str, path: str) -> bool:
    return method == "GET" and "alt=media" in path


def on_upload(method: str, path: str) -> bool:
    return method in ("POST", "PUT") and "upload" in path


def snapshot(step: int) -> Snapshot:
    weights = {"w": np.arange(1000, dtype=np.float32) + step}
    return Snapshot(step, {"weights": weights}, {"progress": {"step": step}})


class Heard:
    def __init__(self) -> None:
        self.events: list[ev.Event] = []

    def __call__(self, event: ev.Event) -> None:
        self.events.append(event)


def test_a_checkpoint_goes_up_and_comes_back_through_errors(store: Store, tmp_path: Path) -> None:
    store.faults = [Fault("503", on_upload, times=2), Fault("slow", on_upload, amount=0.2)]
    heard, url = Heard(), "gs://runs/a/checkpoints"
    copier = bucket_copy.BucketCopier(bucket_copy.BucketFolders(url), tmp_path, heard)
    for step in (10, 20):
        path = checkpoint_files.write(tmp_path / "here", snapshot(step))
        copier.notify(ev.SaveDone(path=str(path), step=step))
        assert copier.close(PATIENCE_S) or step == 10
        copier = bucket_copy.BucketCopier(bucket_copy.BucketFolders(url), tmp_path, heard)
    assert store.done["503"] == 2
    assert bucket_copy.checkpoint_names(url) == ["step-10", "step-20"]
    store.faults = [Fault("cut", on_media, times=1), Fault("500", on_media, times=1)]
    (tmp_path / "there").mkdir()
    bucket_copy.fetch_newest(url, tmp_path / "there", heard)
    assert store.done["cut"] == 1
    found = checkpoint_files.read(tmp_path / "there" / "step-20")
    np.testing.assert_array_equal(found.groups["weights"]["w"], snapshot(20).groups["weights"]["w"])
    assert not list((tmp_path / "there").glob("*.part"))


def test_a_half_uploaded_checkpoint_is_not_one_and_a_damaged_one_is_passed_over(
    store: Store, tmp_path: Path
) -> None:
    url, heard = "gs://runs/half/checkpoints", Heard()
    for step in (1, 2):
        bucket_copy.upload(checkpoint_files.write(tmp_path / "here", snapshot(step)), f"{url}/step-{step}")
    half = checkpoint_files.write(tmp_path / "here", snapshot(3))
    cloud_copy.upload_file(half / "weights.npz", f"{url}/step-3/weights.npz")  # the sums never came
    damaged = tmp_path / "weights.npz"
    damaged.write_bytes((tmp_path / "here/step-2/weights.npz").read_bytes()[:-7])
    cloud_copy.upload_file(damaged, f"{url}/step-2/weights.npz")
    (tmp_path / "there").mkdir()
    bucket_copy.fetch_newest(url, tmp_path / "there", heard)
    assert [path.name for path in checkpoint_files.committed(tmp_path / "there")] == ["step-1"]
    rejected = heard.events[0]
    assert isinstance(rejected, ev.CheckpointRejected)
    assert rejected.path == f"{url}/step-2"
    assert "another checksum" in rejected.why


def test_the_best_one_goes_up_and_comes_back_beside_the_newest(store: Store, tmp_path: Path) -> None:
    """On another machine nothing else is left of it, and the first copy from there must not remove it."""
    url, heard, here = "gs://runs/best/checkpoints", Heard(), tmp_path / "here"
    for step in (10, 20):
        made = snapshot(step)
        checkpoint_files.write(
            here, replace(made, meta={**made.meta, "progress": {"patience": {"best_step": 10}}})
        )
    checkpoint_files.set_pointer(here, checkpoint_files.BEST, "step-10")
    copier = bucket_copy.BucketCopier(bucket_copy.BucketFolders(url), tmp_path, heard)
    copier.notify(ev.SaveDone(path=str(here / "step-20"), step=20))  # step 10 was superseded before its turn
    assert copier.close(PATIENCE_S)
    assert bucket_copy.checkpoint_names(url) == ["step-10", "step-20"]
    (tmp_path / "there").mkdir()
    bucket_copy.fetch_newest(url, tmp_path / "there", heard)
    assert [path.name for path in checkpoint_files.committed(tmp_path / "there")] == ["step-10", "step-20"]


def test_what_is_not_kept_here_goes_there_too(store: Store, tmp_path: Path) -> None:
    url = "gs://runs/pruned/checkpoints"
    for step in (1, 2, 3):
        bucket_copy.upload(checkpoint_files.write(tmp_path / "here", snapshot(step)), f"{url}/step-{step}")
    bucket_copy.prune(url, {"step-3"})
    assert bucket_copy.checkpoint_names(url) == ["step-3"]


def test_curves_that_the_bucket_refuses_keep_no_checkpoint_from_it(store: Store, tmp_path: Path) -> None:
    """The emulator drops a carriage return at the end of a file: its size is never right, and a run waited minutes."""
    (tmp_path / "tensorboard").mkdir()
    (tmp_path / "tensorboard/events.v2").write_bytes(b"curve\r")
    (tmp_path / "model.npz").write_bytes(b"model")
    heard, url = Heard(), "gs://runs/refused"
    folders = bucket_copy.BucketFolders(f"{url}/checkpoints", url, f"{url}/tensorboard")
    copier = bucket_copy.BucketCopier(folders, tmp_path, heard)
    for step in (10, 20):
        checkpoint_files.write(tmp_path / "here", snapshot(step))
        copier.notify(ev.SaveDone(path=str(tmp_path / f"here/step-{step}")))
        until(
            lambda step=step: f"step-{step}" in bucket_copy.checkpoint_names(folders.checkpoints), "the copy"
        )
    copier.upload_model(tmp_path / "model.npz")
    assert copier.close(PATIENCE_S)
    assert [type(event) for event in heard.events] == [
        ev.CopyFailed,
        ev.CheckpointCopied,
        ev.CheckpointCopied,
    ]
    (failed,) = [event for event in heard.events if isinstance(event, ev.CopyFailed)]
    assert (failed.what, failed.url, failed.retries) == ("tensorboard", f"{url}/tensorboard", False)


def test_a_new_run_neither_takes_nor_removes_what_another_put_there(store: Store, tmp_path: Path) -> None:
    url = "gs://runs/taken/checkpoints"
    bucket_copy.upload(checkpoint_files.write(tmp_path / "old", snapshot(1800)), f"{url}/step-1800")
    with pytest.raises(AlreadyThere) as caught:
        bucket_copy.refuse_foreign_checkpoints(url)
    assert caught.value.found == ("the newest is step-1800",)
    bucket_copy.refuse_foreign_checkpoints("gs://runs/empty/checkpoints")
    store.faults = [Fault("403", lambda method, path: True, times=100)]
    bucket_copy.refuse_foreign_checkpoints(url)  # which cannot be known now
    store.faults = []
    copier = bucket_copy.BucketCopier(bucket_copy.BucketFolders(url), tmp_path, Heard(), all_ours=False)
    for step in (2, 4):
        path = checkpoint_files.write(tmp_path / "new", snapshot(step))
        checkpoint_files.prune(tmp_path / "new", keep=1, written=step)
        copier.notify(ev.SaveDone(path=str(path), step=step))
        until(lambda step=step: f"step-{step}" in bucket_copy.checkpoint_names(url), "the copy")
    assert copier.close(PATIENCE_S)
    assert bucket_copy.checkpoint_names(url) == ["step-4", "step-1800"]


def test_what_a_kill_kept_from_the_bucket_goes_there_when_the_run_resumes(
    store: Store, tmp_path: Path
) -> None:
    """Of a run that has nothing left to train, no later checkpoint would."""
    here, folders = tmp_path / "checkpoints", bucket_copy.BucketFolders("gs://runs/killed/checkpoints")
    for step in (2, 4):
        checkpoint_files.write(here, snapshot(step))
    bucket_copy.upload(here / "step-2", f"{folders.checkpoints}/step-2")  # the kill came before step-4 was
    later = checkpoint_files.write(tmp_path / "elsewhere", snapshot(6))  # it could not be fetched: the
    bucket_copy.upload(later, f"{folders.checkpoints}/step-6")  # bucket gave errors. It is not removed
    checkpoint_files.set_pointer(here, checkpoint_files.BEST, "step-2")
    for _ in range(2):  # and only once
        heard = Heard()
        bucket = bucket_copy.RunBucket(folders, tmp_path, here, heard, resumes=True)
        with bucket.uploading(resumed_from="step-4", stop_requested=lambda: False, grace_s=0.0):
            pass
        assert bucket_copy.checkpoint_names(folders.checkpoints) == ["step-2", "step-4", "step-6"]
    assert heard.events == []


def test_a_best_one_that_a_kill_kept_from_the_bucket_goes_there_too(store: Store, tmp_path: Path) -> None:
    here, folders = tmp_path / "checkpoints", bucket_copy.BucketFolders("gs://runs/best-killed/checkpoints")
    for step in (2, 4):
        checkpoint_files.write(here, snapshot(step))
    bucket_copy.upload(here / "step-4", f"{folders.checkpoints}/step-4")
    checkpoint_files.set_pointer(here, checkpoint_files.BEST, "step-2")
    bucket = bucket_copy.RunBucket(folders, tmp_path, here, Heard(), resumes=True)
    with bucket.uploading(resumed_from="step-4", stop_requested=lambda: False, grace_s=0.0):
        pass
    assert bucket_copy.checkpoint_names(folders.checkpoints) == ["step-2", "step-4"]


def test_another_one_of_the_same_step_is_replaced_in_the_bucket(store: Store, tmp_path: Path) -> None:
    here, folders = tmp_path / "checkpoints", bucket_copy.BucketFolders("gs://runs/same-step/checkpoints")
    other = checkpoint_files.write(tmp_path / "other", replace(snapshot(5), step=4))
    bucket_copy.upload(other, f"{folders.checkpoints}/step-4")
    checkpoint_files.write(here, snapshot(4))
    bucket = bucket_copy.RunBucket(folders, tmp_path, here, Heard(), resumes=True)
    with bucket.uploading(resumed_from="step-4", stop_requested=lambda: False, grace_s=0.0):
        pass
    (tmp_path / "there").mkdir()
    bucket_copy.fetch_newest(folders.checkpoints, tmp_path / "there", Heard())
    found = checkpoint_files.read(tmp_path / "there" / "step-4").groups["weights"]["w"]
    np.testing.assert_array_equal(found, snapshot(4).groups["weights"]["w"])


def test_a_torn_one_here_does_not_hide_the_whole_one_there(store: Store, tmp_path: Path) -> None:
    url, heard = "gs://runs/torn/checkpoints", Heard()
    bucket_copy.upload(checkpoint_files.write(tmp_path / "old", snapshot(30)), f"{url}/step-30")
    for step in (25, 30):
        checkpoint_files.write(tmp_path / "here", snapshot(step))
    (tmp_path / "here/step-30" / checkpoint_files.CHECKSUMS_FILE).write_text("0  weights.npz\n")
    bucket_copy.fetch_newest(url, tmp_path / "here", heard)
    newest, rejected = checkpoint_files.newest_complete(tmp_path / "here")
    assert newest is not None
    assert (newest.step, rejected) == (30, [])


def test_a_bucket_that_gives_errors_does_not_keep_a_run_from_what_is_here(
    store: Store, tmp_path: Path
) -> None:
    url, heard = "gs://runs/away/checkpoints", Heard()
    checkpoint_files.write(tmp_path / "here", snapshot(25))
    store.faults = [Fault("403", lambda method, path: True, times=100)]
    bucket_copy.fetch_newest(url, tmp_path / "here", heard)
    assert [event.url for event in heard.events if isinstance(event, ev.FetchFailed)] == [url]
    with pytest.raises(FileError):
        bucket_copy.fetch_newest(url, tmp_path / "nothing-here", heard)


def test_a_wait_for_the_last_copy_ends_soon_after_somebody_asks(store: Store, tmp_path: Path) -> None:
    store.faults = [Fault("slow", on_upload, amount=30.0)]
    copier = bucket_copy.BucketCopier(
        bucket_copy.BucketFolders("gs://runs/slow/checkpoints"), tmp_path, Heard()
    )
    copier.notify(ev.SaveDone(path=str(checkpoint_files.write(tmp_path / "here", snapshot(1))), step=1))
    asked = []
    assert not copier.close(600.0, hurried=lambda: len(asked) > 1 or asked.append(1) is not None, grace_s=0.1)


def test_data_is_copied_near_once_and_again_when_it_changed(store: Store, tmp_path: Path) -> None:
    for name in ("a.txt", "in/b.txt"):
        file = tmp_path / "up" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name * 50)
        cloud_copy.upload_file(file, f"gs://runs/data/{name}")
    said: list[str] = []
    store.faults = [Fault("cut", on_media, times=1)]
    near = Path(cloud_copy.local_copy("gs://runs/data", said.append))
    assert (near / "in/b.txt").read_text() == "in/b.txt" * 50
    assert store.done["cut"] == 1
    assert cloud_copy.local_copy("gs://runs/data", said.append) == str(near)
    assert len(said) == 1
    assert cloud_copy.local_copy("gs://runs/data/in/b.txt").endswith("/b.txt")
    assert cloud_copy.local_copy("gs://runs/data/*.txt") == str(near / "*.txt")
    assert cloud_copy.local_copy("/here/data") == "/here/data"


def test_a_pack_of_a_bucket_is_one_wherever_it_is_made(store: Store, tmp_path: Path) -> None:
    """Workers of a cluster read the bucket; training reads a local copy, and finds the pack that they made."""
    make_dataset(tmp_path / "data", count=5, side=400)  # one of them to validate on
    for file in sorted(path for path in (tmp_path / "data").rglob("*") if path.is_file()):
        cloud_copy.upload_file(file, f"gs://runs/data/{file.relative_to(tmp_path / 'data').as_posix()}")
    recipe = resolve({"data": {"train": "gs://runs/data"}, "model": {"input": 64}})
    feed = dataset_setup.build_feed(recipe)
    near = dataset_columns.columns_of(dataset_setup.load_splits(recipe).train)
    far = dataset_columns._columns_by_workers(dataset_setup.load_splits(recipe, near=False).train)
    assert near.paths[0].startswith(str(tmp_path / "cache")) and far.paths[0].startswith("gs://runs/data/")
    assert far.lengths.tolist() == near.lengths.tolist()
    here, there = (pack.plan_pack(data, feed, 1 << 30) for data in (near, far))
    assert len(here.items) == len(near) == 4 and here.key == there.key
    made = packing.make_pack(there, dataset_setup.pack_folder())
    found = dataset_setup.find_pack(near, feed)
    assert made is not None and found is not None and found.rows.tolist() == [0, 1, 2, 3]


def test_the_copys_budget(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "big").write_bytes(b"x" * 5000)
    cloud_copy.upload_file(tmp_path / "big", "gs://runs/large/big")
    monkeypatch.setenv(cloud_copy.BUDGET_VARIABLE, "4000")
    with pytest.raises(DiskFull, match="a local copy of the data takes"):
        cloud_copy.local_copy("gs://runs/large")


@pytest.mark.parametrize(
    ("name", "fault", "url", "kind"),
    [
        ("wrong-bucket", None, "gs://rnus/data", PathMissing),
        ("nothing-there", None, "gs://runs/nothing-here", PathMissing),
        ("no-permission", "403", "gs://runs/data", PermissionRefused),
        ("expired-credentials", "401", "gs://runs/data", cloud_copy.CredentialsRefused),
        pytest.param("always-down", "503", "gs://runs/data", FileError, marks=pytest.mark.proof),
    ],
)
def test_errors_are_clear(
    store: Store, name: str, fault: str | None, url: str, kind: type[HoldfastError], stored: Callable[[str, str], None]
) -> None:  # fmt: skip
    store.faults = [Fault(fault, times=1000)] if fault else []
    with pytest.raises(kind) as found:
        cloud_copy.local_copy(url)
    text = render_error(found.value, width=100, colour=False)
    stored(f"launch/bucket-{name}", text.replace(store.url, "http://STORE"))


def test_where_vertex_says_to_put_things() -> None:
    given = {"AIP_CHECKPOINT_DIR": "gs://b/j/checkpoints/", "AIP_MODEL_DIR": "gs://b/j/model/",
             "AIP_TENSORBOARD_LOG_DIR": "gs://b/j/logs/"}  # fmt: skip
    assert bucket_copy.bucket_folders(None, given) == bucket_copy.BucketFolders(
        "gs://b/j/checkpoints", "gs://b/j/model", "gs://b/j/logs"
    )
    assert bucket_copy.bucket_folders("gs://runs/a/", given) == bucket_copy.BucketFolders(
        "gs://runs/a/checkpoints", "gs://runs/a", "gs://runs/a/tensorboard"
    )
    assert bucket_copy.bucket_folders(None, {}) is None


def test_what_a_recipe_names_in_the_cloud_is_checked(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud_check, "METADATA", "http://127.0.0.1:9/nobody")
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    cloud_copy.upload_file(tmp_path / "file", "gs://runs/pictures/a.bin")
    fine = resolve({"data": {"train": "gs://runs/pictures"}, "hardware": {"copy_to": "gs://runs/out"}})
    assert cloud_check.problems(fine, {"AIP_MODEL_DIR": "gs://runs/model/"}) == []
    rate, whole = cloud_check.throughput("gs://runs/pictures")
    assert whole == 100_000
    assert rate > 0
    wrong = resolve({"data": {"train": "gs://runs/pcitures"}, "hardware": {"copy_to": "gs://nowhere/out"}})
    found = cloud_check.problems(wrong, {"AIP_CHECKPOINT_DIR": "checkpoints"})
    assert [(one.finding, one.file) for one in found] == [
        ("cloud-unreadable", "gs://runs/pcitures"),
        ("cloud-unwritable", "checkpoints"),
        ("cloud-unwritable", "gs://nowhere/out"),
    ]
    assert found[0].detail == "data.train: there is nothing at this address of the bucket"
    assert "there is no bucket nowhere" in found[2].detail
    store.faults = [Fault("403", on_upload, times=100)]
    (refused,) = cloud_check.problems(fine, {})
    assert "these credentials may not use gs://runs in this way" in refused.detail


def test_a_bucket_in_another_region_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_check, "machine_region", lambda: "europe-west4")
    for there, told in (("EUROPE-WEST4", 0), ("EU", 0), ("US-CENTRAL1", 1), ("", 0)):
        monkeypatch.setattr(cloud_check, "bucket_region", lambda url, there=there: there)
        assert len(cloud_check._region_problems("data.train", "gs://b/a")) == told
