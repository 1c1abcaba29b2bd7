"""SIGKILL at random instants of a run that copies to a bucket, resumed on this machine or on an empty one.

The bucket is a real object store that is slow now and then, so kills strike amid uploads and downloads too.
HOLDFAST_KILLS and HOLDFAST_KILL_SEED choose how often and when, as in tests/train/checkpoint/test_resume_after_kill.py.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from holdfast.data.files import cloud_copy
from holdfast.train.checkpoint import bucket_copy
from tests.launch import faulty_bucket
from tests.launch.faulty_bucket import Fault
from tests.train.kills import (
    KILLS,
    ROOT,
    SEED,
    chains,
    environment_for,
    killed_and_resumed,
    note,
    same_model,
    same_state,
    whole_run,
)  # fmt: skip
from tests.train.nursery import Nursery

pytestmark = [pytest.mark.hot, pytest.mark.proof, pytest.mark.timeout(7200)]

gcsfs = pytest.importorskip("gcsfs")
pytest.importorskip("gcp_storage_emulator")


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
@pytest.mark.parametrize("detector", ["ssd", "retinanet", "faster-rcnn"])
def test_from_the_bucket_or_from_here_it_ends_with_the_same_bits(
    detector: str, backend: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    whole = whole_run(detector, backend, tmp_path_factory)  # without a bucket
    dice = random.Random(f"{SEED} {backend} {detector} bucket")
    with faulty_bucket.running("runs") as store:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", store.url)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        gcsfs.GCSFileSystem.clear_instance_cache()
        nursery = Nursery(ROOT, environment_for(backend, whole.folder.parent))

        def chain(number: int, kills: int) -> list[str]:
            folder, url = tmp_path / f"run-{number}", f"gs://runs/{number}"

            def on_an_empty_machine() -> None:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                (folder / "recipe.toml").write_text(f'{whole.recipe}[hardware]\ncopy_to = "{url}"\n')

            def between() -> str:
                store.faults = [Fault("slow", amount=dice.uniform(0, 0.5), times=dice.randrange(20))]
                if dice.random() < 0.5:
                    return ""
                on_an_empty_machine()
                return ",machine-lost"

            on_an_empty_machine()
            struck = killed_and_resumed(
                nursery.start, folder, steps=8, kills=kills, dice=dice, between=between
            )
            same_state(whole.folder, folder)
            same_copy(whole.folder, url, tmp_path / f"copy-{number}")
            note(f"{detector} with a bucket", backend, struck)
            return struck

        chains(KILLS or 3, chain)
        nursery.close()


def same_copy(whole: Path, url: str, folder: Path) -> None:
    """What an empty machine finds in the bucket is the end of the run too."""
    (folder / "checkpoints").mkdir(parents=True)
    assert bucket_copy.checkpoint_names(f"{url}/checkpoints")[-1] == "step-8"
    bucket_copy.fetch_newest(f"{url}/checkpoints", folder / "checkpoints", lambda event: None)
    cloud_copy.download_file(f"{url}/model.npz", folder / "model.npz")
    same_model(whole, folder)
