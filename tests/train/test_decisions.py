"""The trainer's pure decisions: smaller micro-batches, divergence, a changed recipe, held-out pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from holdfast import settings
from holdfast.data.records import Dataset, ImageRef, Record
from holdfast.errors import HoldfastError
from holdfast.journal import events as ev
from holdfast.journal.reader import Entry
from holdfast.report.text import render_error
from holdfast.step import out_of_memory
from holdfast.train import dataset_setup, nonfinite
from holdfast.train.checkpoint import resume

RECIPE = settings.resolve({"data": {"train": "shapes"}})


@pytest.mark.parametrize(
    ("micro", "batch", "expected"),
    [(16, 16, 8), (8, 16, 4), (2, 16, 1), (1, 16, None), (6, 6, 3), (3, 6, 1), (9, 9, 3)],
)
def test_the_next_smaller_micro_batch_divides_the_batch(micro: int, batch: int, expected: int | None) -> None:
    assert out_of_memory.smaller_micro_batch(micro, batch) == expected


def entry(event: ev.Event, attempt: int) -> Entry:
    return Entry(line=1, at=0, mono=0, by="trainer", pid=1, attempt=attempt, event=event)


def killed(before: int | None, after: int | None, attempt: int) -> Entry:
    return entry(ev.AttemptEnded(signal="SIGKILL", oom_kills_before=before, oom_kills_after=after), attempt)


def test_after_a_kill_for_memory_the_micro_batch_in_use_is_halved() -> None:
    told = entry(ev.MicroBatchSet(micro_batch=8), 1)
    assert out_of_memory.micro_batch_after_kill([told, killed(0, 1, 1)], 2, 16) == (8, 4)
    assert out_of_memory.micro_batch_after_kill([killed(0, 1, 1)], 2, 16) == (16, 8)
    assert out_of_memory.micro_batch_after_kill([told, killed(2, 2, 1)], 2, 16) is None, (
        "a kill that no counter speaks of is no such kill"
    )
    assert out_of_memory.micro_batch_after_kill([told, killed(None, None, 1)], 2, 16) is None
    assert out_of_memory.micro_batch_after_kill([told, killed(0, 1, 1)], 3, 16) is None, (
        "the attempt in between ended otherwise"
    )
    one = entry(ev.MicroBatchSet(micro_batch=1), 1)
    assert out_of_memory.micro_batch_after_kill([one, killed(0, 1, 1)], 2, 16) == (1, 1)


def test_a_second_end_for_memory_in_a_row_takes_a_larger_step() -> None:
    first = [entry(ev.MicroBatchSet(micro_batch=16), 1), killed(0, 1, 1)]
    second = [entry(ev.MicroBatchSet(micro_batch=8), 2), killed(1, 2, 2)]
    third = [entry(ev.MicroBatchSet(micro_batch=2), 3), killed(2, 3, 3)]
    assert out_of_memory.micro_batch_after_kill([*first, *second], 3, 16) == (8, 2)
    assert out_of_memory.micro_batch_after_kill([*first, *second, *third], 4, 16) == (2, 1)


def test_an_allocation_refused_outside_of_a_step_counts_as_an_end_for_memory() -> None:
    refused = [
        entry(ev.ExceptionRaised(type="ResourceExhaustedError", message="OOM when allocating tensor"), 1),
        entry(ev.AttemptEnded(exit_code=70), 1),
    ]
    assert out_of_memory.micro_batch_after_kill(refused, 2, 16) == (16, 8)
    assert out_of_memory.ran_out_of_memory(refused)
    other = [
        entry(ev.ExceptionRaised(type="ValueError", message="no"), 1),
        entry(ev.AttemptEnded(exit_code=70), 1),
    ]
    assert out_of_memory.micro_batch_after_kill(other, 2, 16) is None
    assert not out_of_memory.ran_out_of_memory(other)


def test_the_answer_to_divergence() -> None:
    def answers(policy: str, can: bool = True) -> list[str]:
        return [nonfinite.decide_policy(policy, so_far=n, limit=2, can_roll_back=can) for n in range(3)]

    assert answers("stop") == ["stop", "stop", "stop"]
    assert answers("skip") == ["skip", "skip", "stop"]
    assert answers("rollback") == ["rollback", "rollback", "stop"]
    assert answers("rollback", can=False) == ["stop", "stop", "stop"]


def test_the_first_thing_that_is_not_finite_is_named() -> None:
    nan, inf = float("nan"), float("inf")
    parts = {"box": 1.0, "class": inf}
    assert nonfinite.first_nonfinite({"parts": parts, "loss": inf})[:2] == ("loss-part", "the class loss")
    fine = {"parts": {"box": 1.0}, "loss": 1.0, "gradient_norm": nan, "norms": {"a": 1.0, "b": nan}}
    assert nonfinite.first_nonfinite(fine)[:2] == ("gradient", "the gradient of b")


def changed(*overrides: str) -> dict[str, tuple[object, object]]:
    now = settings.resolve({"data": {"train": "shapes"}}, overrides)
    return resume.changed_settings(resume.flatten(RECIPE), resume.flatten(now))


def test_what_changed_is_said() -> None:
    assert changed() == {}
    assert (
        resume.describe_changes(changed("train.keep_checkpoints=9"))
        == "the recipe was changed since: train.keep_checkpoints 3 → 9"
    )
    text = resume.describe_changes(changed("train.learning_rate=0.01", "train.early_stopping_patience=4"))
    assert text == (
        "the recipe was changed since: train.learning_rate 0.001 → 0.01, train.early_stopping_patience nothing → 4 "
        "(the result will not be that of one run)"
    )
    resume.check_changes(changed("train.learning_rate=0.01", "train.steps=9000"), where="recipe.toml")


def test_pictures_that_are_resized_elsewhere_than_before_are_told() -> None:
    """`auto` on a machine without a GPU, of a run that began on one; checkpoints of before have no such number."""
    sent, here, old = {"feed": {"sent_pixels": 499_712}}, {"feed": {"sent_pixels": None}}, {"feed": {}}
    assert resume.resize_note(sent, sent) == resume.resize_note(old, here) == ""
    assert resume.resize_note(sent, here) == (
        "pictures were resized in the step, from 499712 pixels each, so far, and are resized by the processor now "
        "(the result may differ by rounding)"
    )
    assert 'data.resize "auto" → "host" (the result will not be' in resume.describe_changes(
        changed("data.resize=host")
    )


@pytest.mark.parametrize(
    "override", ["train.batch=8", "model.detector=retinanet", "train.seed=4", "model.input=512"]
)
def test_nonsense_is_refused(override: str) -> None:
    with pytest.raises(HoldfastError, match=f"{override.split('=')[0]} was changed") as caught:
        resume.check_changes(changed(override), where="recipe.toml")
    assert caught.value.slug == "cannot-resume"


def test_who_says_so_may_go_on_as_far_as_the_weights_fit() -> None:
    resume.check_changes(changed("train.batch=8", "model.input=512"), where="recipe.toml", accepted=True)
    resume.check_images({"images": 240}, {"images": 239}, where="recipe.toml", accepted=True)
    with pytest.raises(HoldfastError, match=r"model\.detector was changed") as caught:
        resume.check_changes(
            changed("model.detector=retinanet", "train.batch=8"), where="recipe.toml", accepted=True
        )
    assert len(caught.value.change) == 1, "no word of a way that there is not"


def test_the_refusals_read_well(stored: Callable[[str, str], None]) -> None:
    with pytest.raises(HoldfastError) as caught:
        resume.check_changes(changed("train.batch=8"), where="runs/shapes-1/recipe.toml")
    stored("train/resume-changed-batch", render_error(caught.value))
    with pytest.raises(HoldfastError) as caught:
        resume.check_images({"images": 240}, {"images": 239}, where="runs/shapes-1/recipe.toml")
    stored("train/resume-other-data", render_error(caught.value))
    stored(
        "train/one-picture-does-not-fit",
        render_error(out_of_memory.out_of_memory_error("step 7", MemoryError("OOM when allocating"))),
    )


def records(*names: str, split: str | None = None) -> tuple[Record, ...]:
    return tuple(Record(name, name, ImageRef(name), split=split) for name in names)


def test_held_out_by_name_the_same_pictures_every_time() -> None:
    many = records(*(f"{number}.jpg" for number in range(50)))
    kept, held = dataset_setup.split_records(many, 0.2)
    assert (len(kept), len(held)) == (40, 10)
    assert set(kept) | set(held) == set(many)
    _, again = dataset_setup.split_records(tuple(reversed(many)), 0.2)
    assert set(again) == set(held)
    _, with_more = dataset_setup.split_records((*many, *records("50.jpg", "51.jpg")), 0.2)
    assert len(set(held) & set(with_more)) >= 8
    assert [len(side) for side in dataset_setup.split_records(records("a", "b"), 0.1)] == [1, 1]
    assert [len(side) for side in dataset_setup.split_records(records("a"), 0.5)] == [1, 0]


def test_the_datas_own_splits_are_taken() -> None:
    both = records("a", "b", split="train") + records("c", split="Valid") + records("d", split="test")
    dataset = Dataset("x", "coco", both, ("one",))
    parts = dataset_setup._split_off_validation(dataset, None)
    assert [record.id for record in parts.train.records] == ["a", "b"]
    assert [record.id for record in parts.validation.records] == ["c"]
    assert parts.how == "validates on the data's own split 'Valid'"
    alone = dataset_setup._split_off_validation(replace(dataset, records=records("a", "b", "c")), None)
    assert len(alone.validation.records) == 1
    with pytest.raises(HoldfastError, match="no picture is left"):
        dataset_setup._split_off_validation(replace(dataset, records=records("a")), None)
