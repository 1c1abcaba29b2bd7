"""Rows come to their images in the order of the table, whatever the order of the images in it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from holdfast.data.files import packed_list
from holdfast.data.tables import row_groups
from holdfast.data.tables.row_groups import RowGroups


def test_the_places_of_each_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_list, "IN_MEMORY_BYTES", 16)
    monkeypatch.setattr(row_groups, "BLOCK", 5)
    draw = random.Random(4)
    owners = [draw.randrange(-1, 20) for _ in range(300)]
    groups = RowGroups(np.array(owners), 20)
    for start, stop in ((0, 20), (3, 4), (18, 20), (0, 0)):
        places, bounds = groups.of_images(start, stop)
        found = [places[bounds[at] : bounds[at + 1]].tolist() for at in range(stop - start)]
        assert found == [
            [place for place, owner in enumerate(owners) if owner == image] for image in range(start, stop)
        ]
