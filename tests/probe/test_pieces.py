"""Which of the arrays that did not go together is the odd one, from real exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from holdfast.journal.events import ArrayShapesDiffered
from holdfast.probe.process.array_shapes import odd_one

PICTURES = [np.zeros((4, 4, 3)) for _ in range(5)]


def _raised(put_together: Callable[[], Any]) -> BaseException:
    with pytest.raises(ValueError) as caught:
        put_together()
    return caught.value


def test_the_odd_one_is_found_in_the_list_that_numpy_was_given() -> None:
    found = odd_one(_raised(lambda: np.stack([*PICTURES, np.zeros((4, 4, 4))])))
    assert found == ArrayShapesDiffered(usual=[4, 4, 3], odd=[4, 4, 4], index=5, total=6)


def test_the_odd_one_is_found_in_a_list_of_the_users_own() -> None:
    def collate() -> Any:
        images = [np.zeros((4, 5, 3)), *PICTURES]
        return np.array(images)

    found = odd_one(_raised(collate))
    assert found == ArrayShapesDiffered(usual=[4, 4, 3], odd=[4, 5, 3], index=0, total=6)


def test_nothing_is_said_where_all_are_alike() -> None:
    assert odd_one(_raised(lambda: np.stack([]))) is None
