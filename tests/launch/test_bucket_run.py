"""A run whose data, checkpoints and model are in a bucket that fails now and then, gone on with on an empty machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.data.files import cloud_copy
from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.journal.beats import BeatReader
from holdfast.train.checkpoint import bucket_copy
from tests.launch import faulty_bucket
from tests.launch.faulty_bucket import Fault
from tests.train import shapes

pytestmark = [pytest.mark.hot, pytest.mark.proof, pytest.mark.timeout(1800)]

gcsfs = pytest.importorskip("gcsfs")
pytest.importorskip("gcp_storage_emulator")

ROOT = Path(__file__).parent.parent.parent
RECIPE = """
[data]
train = "gs://images/shapes"
validation_fraction = 0.2
[model]
input = 64
[train]
steps = 8
batch = 4
checkpoint_every = 2
validate_every = 8
[hardware]
copy_to = "gs://runs/first"
"""


def started(folder: Path, cache: Path, url: str, *more: str) -> subprocess.Popen[bytes]:
    folder.mkdir()
    (folder / "recipe.toml").write_text(RECIPE)
    environment = os.environ | {"STORAGE_EMULATOR_HOST": url, "XDG_CACHE_HOME": str(cache)}
    with (folder / "log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "holdfast.train", str(folder), *more], cwd=ROOT,
                                env=environment, stdout=log, stderr=subprocess.STDOUT)  # fmt: skip


def test_from_a_bucket_to_a_bucket_and_on_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty_bucket.running("images", "runs") as store:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", store.url)
        gcsfs.GCSFileSystem.clear_instance_cache()
        source = shapes.write(tmp_path / "shapes", 12, side=64)
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            cloud_copy.upload_file(file, f"gs://images/shapes/{file.relative_to(source).as_posix()}")
        media = lambda method, path: "alt=media" in path  # noqa: E731
        store.faults = [Fault("503", media, times=2), Fault("cut", media, times=2), Fault("slow", times=5)]
        first = started(tmp_path / "first", tmp_path / "cache-1", store.url)
        until = time.monotonic() + 600
        while time.monotonic() < until and first.poll() is None:
            beat = BeatReader(tmp_path / "first" / "beats").newest()
            if beat is not None and beat.step >= 3:
                first.send_signal(signal.SIGTERM)
                break
            time.sleep(0.05)
        assert first.wait(300) == 143, (tmp_path / "first/log").read_text()[-3000:]
        assert store.done["cut"] == 2
        saved = bucket_copy.checkpoint_names("gs://runs/first/checkpoints")
        assert saved
        second = started(tmp_path / "second", tmp_path / "cache-2", store.url, "--resume")
        assert second.wait(900) == 0, (tmp_path / "second/log").read_text()[-3000:]
        events = [one.event for one in reader.read(tmp_path / "second/journal.jsonl")]
        restored = [one for one in events if isinstance(one, ev.Restored)]
        assert [f"step-{one.iterations}" for one in restored] == [saved[-1]]
        assert bucket_copy.checkpoint_names("gs://runs/first/checkpoints")[-1] == "step-8"
        cloud_copy.download_file("gs://runs/first/model.npz", tmp_path / "model.npz")
        assert (tmp_path / "model.npz").read_bytes() == (tmp_path / "second/model.npz").read_bytes()
