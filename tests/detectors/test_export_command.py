import json

import numpy as np
import pytest
from PIL import Image

from holdfast.cli.main import main
from holdfast.detectors.export import ExportDiffers, compare

pytestmark = pytest.mark.hot


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (80, 60, 3)).astype(np.uint8)).save(path)
    return path


def test_a_saved_model_takes_a_picture_of_any_size(model, picture, tmp_path, capsys):
    import tensorflow as tf

    out = tmp_path / "saved"
    code = main(
        ["export", str(model), "--to", "saved_model", "--out", str(out), "--pictures", str(picture), "--json"]
    )
    report = json.loads(capsys.readouterr().out)
    assert (code, report["pictures"]) == (0, 1)
    assert report["detections"] > 5
    loaded = tf.saved_model.load(str(out))  # its functions do not keep its variables alive
    found = loaded.serve(np.asarray(Image.open(picture)))
    boxes = found["boxes"].numpy()[found["classes"].numpy() >= 0]
    assert boxes.max(axis=0)[2] <= 60
    assert boxes.max(axis=0)[3] <= 80
    # At the input's own size nothing is resized, by TensorFlow or by Pillow, and both find the same.
    exact = tmp_path / "exact.png"
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (96, 96, 3)).astype(np.uint8)).save(exact)
    found = loaded.serve(np.asarray(Image.open(exact)))
    main(["predict", str(model), str(exact), "--json", "--score", "0.05"])
    seen = json.loads(capsys.readouterr().out)["detections"]
    assert seen[0]["class"] == ("cat", "dog")[int(found["classes"][0])]
    np.testing.assert_allclose(found["boxes"][0], seen[0]["box"], atol=0.1)
    assert main(["export", str(model), "--to", "saved_model", "--out", str(out)]) == 2
    assert "would overwrite" in capsys.readouterr().err


def test_tflite_finds_what_the_model_finds(model, picture, tmp_path, capsys):
    out = tmp_path / "model.tflite"
    code = main(
        ["export", str(model), "--to", "tflite", "--out", str(out), "--pictures", str(picture), "--json"]
    )
    printed = capsys.readouterr()
    assert code == 0, printed.err
    report = json.loads(printed.out)
    assert report["detections"] > 5
    assert report["largest_box_difference_px"] < 0.05
    assert out.stat().st_size > 1_000_000
    assert [file.name for file in tmp_path.iterdir() if "partial" in file.name] == []


def test_a_file_that_finds_something_else_is_refused():
    ours = (np.zeros((1, 4)), np.array([0.5]), np.array([1]))
    theirs = (np.ones((1, 4)), np.array([0.5]), np.array([1]))
    with pytest.raises(ExportDiffers) as caught:
        compare(lambda _: ours, lambda _: theirs, [np.zeros((2, 2, 3), np.uint8)], 0.05)
    assert caught.value.found == ("1 of 1 detections have no partner within 0.05 pixels",)


def test_detections_that_change_places_are_the_same():
    ours = (np.array([[0, 0, 1, 1], [5, 5, 9, 9]]), np.array([0.5, 0.4999]), np.array([1, 0]))
    theirs = tuple(part[::-1] for part in ours)
    found = compare(lambda _: ours, lambda _: theirs, [np.zeros((2, 2, 3), np.uint8)], 0.05)
    assert (found.detections, found.unmatched, found.boxes) == (2, 0, 0.0)
