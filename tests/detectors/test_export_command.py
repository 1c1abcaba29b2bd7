import json

import numpy as np
import pytest
from PIL import Image

from holdfast.cli.commands.export_command import _decoded
from holdfast.cli.main import main
from tests.data import made

pytestmark = [pytest.mark.hot, pytest.mark.long(25), pytest.mark.usefixtures("built_once")]


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (80, 60, 3)).astype(np.uint8)).save(path)
    return path


def test_a_saved_model_takes_an_image_of_any_size(model, image, tmp_path, capsys):
    import tensorflow as tf

    out = tmp_path / "saved"
    code = main(
        ["export", str(model), "--to", "saved_model", "--out", str(out), "--images", str(image), "--json"]
    )
    report = json.loads(capsys.readouterr().out)
    assert (code, report["pictures"]) == (0, 1)
    assert report["detections"] > 5
    loaded = tf.saved_model.load(str(out))  # its functions do not keep its variables alive
    found = loaded.serve(np.asarray(Image.open(image)))
    boxes = found["boxes"].numpy()[found["classes"].numpy() >= 0]
    assert boxes.max(axis=0)[2] <= 60
    assert boxes.max(axis=0)[3] <= 80
    # A file shrinks as `predict` does, but for the last grey level: the best scores of noise are all 1.0, in any
    # order. Of JPEGs, which other decoders decode otherwise, test_overfit.py has more.
    others = []
    for width, height in ((96, 96), (181, 140)):
        small = np.random.default_rng(width).integers(0, 256, (9, 9, 3)).astype(np.uint8)
        others.append(tmp_path / f"{width}.png")
        Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC).save(others[-1])
    main(["predict", str(model), *map(str, others), "--json", "--score", "0.05"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for other, row in zip(others, rows, strict=True):
        assert row["file"] == str(other)
        found = loaded.serve(np.asarray(Image.open(other)))
        for detection in row["detections"][:3]:
            same_class = found["classes"].numpy() == ("cat", "dog").index(detection["class"])
            beside = np.abs(found["boxes"].numpy()[same_class] - detection["box"]).max(axis=1)
            assert beside.min() < 0.5
    assert main(["export", str(model), "--to", "saved_model", "--out", str(out)]) == 2
    assert "would overwrite" in capsys.readouterr().err


def exported(to, out, model, image, capsys):
    """The report of an export that was compared with the model on the image."""
    code = main(["export", str(model), "--to", to, "--out", str(out), "--images", str(image), "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out)


@pytest.mark.parametrize(("format", "mode"), [("PNG", "I;16"), ("TIFF", "I;16B")])
def test_sixteen_bits_are_compared_by_their_high_byte(format, mode):
    encoded = made.sixteen_bits(format=format, mode=mode)
    np.testing.assert_array_equal(_decoded(encoded), np.asarray(made.high_bytes()))


@pytest.mark.proof  # half a minute, and test_overfit tries all three detectors; eight bits are tried beside this file
def test_tflite_finds_what_the_model_finds(model, image, tmp_path, capsys):
    out = tmp_path / "model.tflite"
    report = exported("tflite", out, model, image, capsys)
    assert report["detections"] > 5
    assert report["largest_box_difference_px"] < 0.05
    assert out.stat().st_size > 1_000_000
    assert [file.name for file in tmp_path.iterdir() if "partial" in file.name] == []


@pytest.mark.proof  # half a minute, and test_overfit tries all three detectors
def test_onnx_takes_an_image_of_any_size(model, image, tmp_path, capsys):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("tf2onnx")
    out = tmp_path / "model.onnx"
    report = exported("onnx", out, model, image, capsys)
    assert report["detections"] > 5
    assert report["largest_box_difference_px"] < 0.05
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    assert json.loads(session.get_modelmeta().custom_metadata_map["classes"]) == ["cat", "dog"]
    assert [feed.name for feed in session.get_inputs()] == ["image"]
    boxes, classes = session.run(["boxes", "classes"], {"image": np.asarray(Image.open(image))})
    real = boxes[classes >= 0]
    assert len(real) > 5
    assert (real >= 0).all()
    assert (real <= [60, 80, 60, 80]).all()


def test_what_cannot_be_exported_is_said_before_anything_is_computed(model, image, tmp_path, capsys):
    def said(*more):
        assert main(["export", str(model), *more]) == 2
        return " ".join(capsys.readouterr().err.split())

    (tmp_path / "there").write_text("something")
    assert "would overwrite something" in said("--to", "onnx", "--out", str(tmp_path / "there"))
    assert "does not exist" in said("--to", "onnx", "--out", str(tmp_path / "no" / "model.onnx"))
    assert "takes no files" in said("--to", "onnx", "--out", "/proc/model.onnx")
    assert "--int8 needs --to tflite" in said(
        "--to", "onnx", "--out", str(tmp_path / "m"), "--int8", str(image)
    )
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image")
    text = said("--to", "onnx", "--out", str(tmp_path / "m"), "--images", str(broken))
    assert "an image of --images or --int8 cannot be decoded" in text
    assert "no images found" in said("--to", "onnx", "--out", str(tmp_path / "m"), "--images", "no*thing")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.png", "broken.png", "there"]


def test_noise_without_a_detection_is_not_called_the_same(tmp_path):
    from holdfast.cli.commands.export_command import as_text
    from holdfast.detectors.export.verify_export import FLOAT_TOLERANCE, ExportComparison

    text = as_text(tmp_path / "m.onnx", ExportComparison(4, 0, 0, 0.0, 0.0, FLOAT_TOLERANCE))
    assert "they could not be compared" in text
