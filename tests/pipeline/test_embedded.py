"""Images that are only inside labelme's JSON come as the same batches as those in files."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from tests.data import made

from holdfast.data.reading.load import read

pytestmark = pytest.mark.hot


def test_batches_from_inside_json_and_from_files_are_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.pipeline import dataset_columns
    from holdfast.pipeline.feed import LIGHT, Feed
    from holdfast.pipeline.stream import Stream

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for folder in ("inside", "files"):
        (tmp_path / folder).mkdir()
        for number in range(4):
            data, name = made.image(64, 48, number), f"{number}.jpg"
            shape = {"label": "cell", "points": [[16, 12], [48, 36]], "shape_type": "rectangle"}
            text = base64.b64encode(data).decode() if folder == "inside" else None
            document = {"shapes": [shape], "imagePath": name, "imageData": text}
            (tmp_path / folder / f"{number}.json").write_text(json.dumps(document))
            if folder == "files":
                (tmp_path / folder / name).write_bytes(data)
    feed = Feed(height=32, width=32, batch=4, seed=3, augment=LIGHT)
    streams = [Stream(dataset_columns.columns_of(read(str(tmp_path / f))), feed) for f in ("inside", "files")]
    first, second = (next(stream.batches()) for stream in streams)
    assert first["real"].sum() == 4
    for key in first:
        np.testing.assert_array_equal(first[key], second[key], err_msg=key)
