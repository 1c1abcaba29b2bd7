"""A full disk: in a save, in an error, in the output; and a limit on the size of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, remedies


def example(run: Run) -> None:
    run.fit()
    run.probe(ev.SaveStarted(path="small/best.weights.h5", by="ModelCheckpoint"))
    run.output(
        "OSError: [Errno 28] Can't synchronously write data (file write failed: filename = "
        "'small/best.weights.h5', errno = 28, error message = 'No space left on device')\n"
    )
    run.samples(
        3,
        rss_bytes=600 * MIB,
        phase="save",
        fit=1,
        step=100,
        disks_free_bytes={"run": 9000 * MIB, "checkpoint": 0},
    )
    run.ended(signal="SIGSEGV")


def near_miss(run: Run) -> None:
    """A crash beside a library's advice about space."""
    run.fit()
    run.output("If you see 'No space left on device', please consider a larger disk.\n")
    run.ended(signal="SIGSEGV")


def _full(path: str, **more: object) -> ev.SaveFailed:
    fields = {"error": "OSError: [Errno 28] No space left on device", "errno": 28, "free_bytes": 0, **more}
    return ev.SaveFailed(path=path, **fields)  # type: ignore[arg-type]


@pytest.fixture
def trained(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.fit()
    return run


def test_a_crash_in_hdf5_is_a_full_disk_and_neither_a_crash_nor_memory(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"path": "small/best.weights.h5", "caught": False}
    assert facts(first)["disk.low"] == {"disk": "checkpoint", "free_bytes": 0}
    assert facts(first)["disk-full.crash"] == {"signal": "SIGSEGV"}
    assert remedies(first) == ["disk.make-room", "checkpoint.keep-fewer"]
    assert not {"native-crash", "memory-refused", "script-error"} & set(run.slugs())


def test_a_save_that_the_script_caught_is_found_though_it_ended_well(trained: Run) -> None:
    trained.probe(ev.SaveDone(path="out/best_0.keras", bytes=900_000))
    trained.probe(_full("out/best_1.keras", where="train.py:17"))
    trained.epochs([100] * 3)
    trained.probe(ev.SaveDone(path="out/history.npy"))  # small enough for what was left
    trained.ended(0)
    first = trained.first()
    assert (first.cause, first.strength, first.ends) == ("disk-full", Strength.ESTABLISHED, False)
    assert first.title.values == {"path": "out/best_1.keras", "caught": True}
    saved = facts(first)["save.failed"]
    assert (saved["path"], saved["where"], saved["free_bytes"]) == ("out/best_1.keras", "train.py:17", 0)


def test_a_save_that_found_another_place_is_no_fault(trained: Run) -> None:
    trained.epochs([100] * 3)
    trained.probe(_full("scratch/model.keras"), ev.SaveDone(path="home/model.keras", bytes=900_000))
    trained.ended(0)
    assert trained.slugs() == ["disk-full"] and trained.blamed() == []
    assert facts(trained.first())["save.succeeded-later"] == {"path": "home/model.keras"}


def test_a_full_disk_that_was_only_printed(trained: Run) -> None:
    trained.epochs([100] * 3)
    trained.output("save error: [Errno 28] No space left on device: 'out/w.bin'\nfinished\n")
    trained.ended(0)
    assert (trained.first().cause, trained.first().strength) == ("disk-full", Strength.SUPPORTED)


def test_a_full_disk_long_before_another_end_is_not_what_ended_it(trained: Run) -> None:
    trained.probe(_full("out/best_1.keras"))
    trained.raised("KeyError", "'label'")
    assert trained.slugs()[0] == "script-error" and "disk-full" in trained.slugs()


def test_a_limit_on_the_size_of_a_file_is_no_full_disk(trained: Run) -> None:
    trained.epochs([100] * 3)
    error = "OSError: [Errno 27] File too large"
    trained.probe(_full("model.keras", error=error, errno=27, free_bytes=9 << 30))
    trained.raised("OSError", "[Errno 27] File too large", errno=27)
    first = trained.first()
    assert (first.title.kind, first.strength) == ("disk-full.file-size-limit", Strength.ESTABLISHED)
    assert first.title.values == {"path": "model.keras", "caught": False}
    assert remedies(first)[0] == "limit.raise-file-size"


def test_the_kernel_has_a_signal_for_that_limit(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", rlimits={"fsize": 5 * MIB})
    run.fit()
    run.ended(signal="SIGXFSZ")
    first = run.first()
    assert (first.title.kind, first.strength) == ("disk-full.file-size-limit", Strength.ESTABLISHED)
    assert facts(first)["limit.file-size"] == {"limit_bytes": 5 * MIB}
    assert facts(first)["disk-full.crash"] == {"signal": "SIGXFSZ"}


def test_a_write_that_was_cut_short_is_not_the_callbacks_fault(trained: Run) -> None:
    trained.probe(
        ev.ExceptionRaised(
            type="OSError", message="800000 requested and 247776 written", left="callback", callback="Keep",
            user_line="train.py:26", user_code='np.save(f"small/{epoch}.npy", weights)',
        )
    )  # fmt: skip
    trained.ended(1)
    assert (trained.first().cause, trained.first().strength) == ("disk-full", Strength.SUPPORTED)


def test_our_own_trainer_is_resumed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", watch="train")
    (run.path / "checkpoints" / "step-000120").mkdir(parents=True)
    run.raised("OSError", "[Errno 28] No space left on device: 'out/step-000200'", errno=28)
    resume = run.first().remedies[1]
    assert (resume.kind, resume.values) == ("run.resume", {"saved_step": 120, "before": "make-room"})


@pytest.mark.parametrize(("free_bytes", "cause"), [(0, "disk-full"), (9000 * MIB, "script-error")])
def test_an_error_without_words_in_a_save_is_judged_by_the_space_that_is_left(
    trained: Run, free_bytes: int, cause: str
) -> None:
    """As torch.save raises it."""
    message = "[enforce fail at inline_container.cc:672] . unexpected pos 140480 vs 140372"
    trained.probe(
        ev.SaveFailed(path="small/epoch_3.pt", error=f"RuntimeError: {message}", free_bytes=free_bytes)
    )
    trained.raised("RuntimeError", message)
    assert trained.slugs()[0] == cause


_SPARSE = ev.MappedFileSeen(
    path="/scratch/tiles.npy", mapped_bytes=84 * MIB, size_bytes=84 * MIB, stored_bytes=32 * MIB, free_bytes=0
)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({}, "disk-full"),
        ({"path": "/dev/shm/tiles"}, "shared-memory-full"),
        ({"size_bytes": 10 * MIB, "stored_bytes": 10 * MIB}, "corrupt-record"),
        ({"free_bytes": 1 << 33}, "native-crash"),
    ],
)
def test_sigbus_in_a_mapped_file(tmp_path: Path, changes: dict[str, Any], cause: str) -> None:
    """The file's own file system decides, and whether the file is as long as it was."""
    run = Run(tmp_path / "run")
    run.samples(2, rss_bytes=1 << 28, disks_free_bytes={"shm": 1 << 34})
    run.supervisor(_SPARSE.changed(**changes))
    run.ended(signal="SIGBUS")
    assert (run.first().cause, run.first().strength.word) == (
        cause, "supported" if cause == "native-crash" else "established"
    )  # fmt: skip


def test_what_is_said_of_a_mapped_file(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.supervisor(_SPARSE)
    run.ended(signal="SIGBUS")
    assert facts(run.first())["file.mapped"]["stored_bytes"] == 32 * MIB
    assert remedies(run.first())[-1] == "file.reserve-first"
