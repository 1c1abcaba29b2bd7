"""What a fit is fed, whatever it is fed from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holdfast.journal.events import DependenceSeen, ValuesSeen
from holdfast.probe.learning.learning_observer import LearningObserver

from ..probed import SCRIPTS, new_context, recorded, run

X = np.random.default_rng(0).normal(size=(600, 40)).astype("float32")


@pytest.mark.parametrize("depends", [True, False])
def test_all_rows_of_a_datasets_tensors_show_whether_labels_depend_on_them(
    tmp_path: Path, depends: bool
) -> None:
    labels = (X[:, 0] > 0).astype("int64") if depends else np.arange(len(X)) % 2
    context = new_context(tmp_path)
    observer = LearningObserver(context)
    observer._fit, observer.awaits_batch = 1, True
    observer.batch_fetched((X, labels), step=0)
    (seen,) = recorded(context, DependenceSeen)
    assert (seen.fit, seen.of, seen.rows) == (1, "classes", 600)
    assert ((seen.shuffles_as_related or 0) < 0.05) is depends


def test_one_batch_shows_no_dependence(tmp_path: Path) -> None:
    context = new_context(tmp_path)
    observer = LearningObserver(context)
    observer._fit, observer.awaits_batch = 1, True
    observer.batch_fetched((X, X[:, 0] > 0), step=1)
    assert not recorded(context, DependenceSeen)
    assert [one.role for one in recorded(context, ValuesSeen)] == ["input", "target"]


@pytest.mark.hot
def test_images_in_arrays_are_looked_at_after_a_fit_that_learned_nothing(tmp_path: Path) -> None:
    seen = run(SCRIPTS / "images_apart.py", folder=tmp_path).all(DependenceSeen)[-1]  # first as a table
    assert (seen.fit, seen.of, seen.rows) == (1, "images", 360)
    assert seen.agreement < 0.15
