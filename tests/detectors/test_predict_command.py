import contextlib
import io
import json
import os

import numpy as np
import pytest
from PIL import Image

from holdfast.cli.commands.predict_command import draw
from holdfast.cli.image_arguments import find_images, image_names
from holdfast.cli.main import main
from holdfast.errors import PathMissing
from tests.data import made

pytestmark = [pytest.mark.hot, pytest.mark.long(20), pytest.mark.usefixtures("built_once")]


def write_images(folder):
    (folder / "below").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, size in (("a.jpg", (60, 80)), ("below/b.png", (200, 100))):
        Image.fromarray(rng.integers(0, 256, (*size[::-1], 3)).astype(np.uint8)).save(folder / name)
    return folder


@pytest.fixture
def images(tmp_path):
    return write_images(tmp_path / "pictures")


@pytest.fixture(scope="module")
def predicted(model, tmp_path_factory):
    """One prediction on a folder with good and bad images, for two tests: its exit code, rows and messages."""
    folder = tmp_path_factory.mktemp("predicted")
    images = write_images(folder / "pictures")
    (images / "broken.jpg").write_bytes(b"\xff\xd8\xff no image")
    (images / "cut.jpg").write_bytes((images / "a.jpg").read_bytes()[:900])
    (images / "empty.png").touch()
    os.mkfifo(images / "pipe.png")
    out, err = io.StringIO(), io.StringIO()
    words = [str(model.parent), str(images), "--json", "--score", "0.2", "--out", str(folder / "drawn")]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["predict", *words])
    return folder, code, [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue()


def test_json_and_drawings(predicted):
    folder, code, rows, messages = predicted
    assert code == 1
    assert "broken.jpg: the image cannot be decoded" in messages
    assert "cut.jpg: the image cannot be decoded: image file is truncated" in messages
    assert "empty.png: the image cannot be decoded: the file is empty: 0 bytes" in messages
    assert "pipe.png: the image cannot be opened: this is a folder, a pipe or a device" in messages
    assert [(row["width"], row["height"]) for row in rows] == [(60, 80), (200, 100)]
    assert sum(len(row["detections"]) for row in rows) > 0
    for row in rows:
        for one in row["detections"]:
            x1, y1, x2, y2 = one["box"]
            assert 0 <= x1 <= x2 <= row["width"]
            assert 0 <= y1 <= y2 <= row["height"]
            assert one["class"] in ("cat", "dog")
            assert one["score"] >= 0.2
    assert sorted(file.name for file in (folder / "drawn").iterdir()) == ["a.png", "b.png"]


@pytest.mark.parametrize(("format", "mode"), [("PNG", "I;16"), ("TIFF", "I;16B")])
def test_sixteen_bits_are_drawn_by_their_high_byte(format, mode, tmp_path):
    path = tmp_path / f"a.{format.lower()}"
    path.write_bytes(made.sixteen_bits(format=format, mode=mode))
    (tmp_path / "drawn").mkdir()
    assert Image.open(draw(str(path), [], tmp_path / "drawn")).tobytes() == made.high_bytes().tobytes()


def test_one_image_is_the_same_alone_and_in_a_batch(model, predicted, capsys):
    folder, _, together, _ = predicted
    images = folder / "pictures"
    main(["predict", str(model), str(images / "a.jpg"), str(images / "**" / "b*.png"), "--json", "--score", "0.2",
          "--batch", "1"])  # fmt: skip
    alone = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for one, other in zip(together, alone, strict=True):
        assert one["file"] == other["file"]
        for found, again in zip(one["detections"], other["detections"], strict=True):
            assert found["class"] == again["class"]
            np.testing.assert_allclose(found["box"], again["box"], atol=0.2)


def test_a_model_on_a_dataset(model, images, capsys):
    truth = {
        "images": [
            {"id": 1, "file_name": "a.jpg", "width": 60, "height": 80},
            {"id": 2, "file_name": "below/b.png", "width": 200, "height": 100},
        ],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [5, 5, 40, 40], "area": 1600}],
    }
    (images / "annotations.json").write_text(json.dumps(truth))
    assert main(["eval", str(model), str(images), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["images"], printed["boxes"]) == (2, 1)
    assert 0.0 <= printed["AP"] <= 1.0
    truth["categories"][0]["name"] = "horse"
    (images / "annotations.json").write_text(json.dumps(truth))
    assert main(["eval", str(model), str(images)]) == 2
    assert "classes that the model was not trained for" in capsys.readouterr().err


def test_what_is_not_there(tmp_path, capsys):
    assert main(["predict", str(tmp_path), str(tmp_path)]) == 2
    assert "no images found" in capsys.readouterr().err
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    assert main(["predict", str(tmp_path), str(tmp_path)]) == 2
    assert "the folder holds no trained model" in capsys.readouterr().err
    (tmp_path / "model.npz").write_bytes(b"PK nothing")
    assert main(["predict", str(tmp_path), str(tmp_path), "--out", str(tmp_path / "a.png")]) == 2
    assert "images are drawn into a folder, and this is a file" in capsys.readouterr().err
    assert main(["predict", str(tmp_path), str(tmp_path)]) == 2
    assert "is not a detector that Holdfast saved" in capsys.readouterr().err
    with pytest.raises(PathMissing):
        find_images([str(tmp_path / "*.jpg")])


def test_images_behind_a_url_are_found_as_on_a_disk(tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    for name in ("b.PNG", "a.jpg", "in/c.jpeg", "labels.csv"):
        fsspec.filesystem("memory").pipe_file(f"/shop/{name}", b"bytes")
    everything = [f"memory://shop/{name}" for name in ("a.jpg", "b.PNG", "in/c.jpeg")]
    assert image_names(["memory://shop"]) == everything
    assert [name.rpartition("/")[2] for name in image_names(["memory://shop/*.jpg"])] == ["a.jpg"]
    (tmp_path / "d.png").write_bytes(b"")
    assert image_names(["memory://shop/a.jpg", str(tmp_path)]) == [
        "memory://shop/a.jpg",
        str(tmp_path / "d.png"),
    ]
    with pytest.raises(PathMissing, match="no images found"):
        image_names(["memory://shop/nothing"])


def test_eval_wants_two_files_or_a_model_and_data(capsys):
    assert main(["eval"]) == 2
    assert "holdfast eval RUN_OR_MODEL DATA" in capsys.readouterr().err
