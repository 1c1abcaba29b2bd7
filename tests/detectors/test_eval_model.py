"""`holdfast eval` of a model: on a run's own validation set, with an image that cannot be read, and as a file."""

import json
import re
import shutil

import numpy as np
import pytest
from PIL import Image

from holdfast.cli.main import main

pytestmark = [pytest.mark.hot, pytest.mark.long(20), pytest.mark.usefixtures("built_once")]


@pytest.fixture
def data(tmp_path):
    """Ten images in COCO's form, the third of them broken."""
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(10):
        pixels = rng.integers(0, 256, (80, 100, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    truth = {
        "images": [{"id": 7 + n, "file_name": f"{n}.png", "width": 100, "height": 80} for n in range(10)],
        "categories": [{"id": 4, "name": "cat"}, {"id": 9, "name": "dog"}],
        "annotations": [
            {"id": n, "image_id": 7 + n, "category_id": 4 + 5 * (n % 2), "bbox": [5, 5, 40, 40], "area": 1600}
            for n in range(10)
        ],
    }
    (folder / "annotations.json").write_text(json.dumps(truth))
    return folder


def test_a_broken_image_is_left_out_and_the_file_gives_the_same_numbers(model, data, tmp_path, capsys):
    (data / "2.png").write_bytes((data / "2.png").read_bytes()[:200])
    out = tmp_path / "dt.json"
    code = main(["eval", str(model), str(data), "--json", "--out", str(out)])
    printed = capsys.readouterr()
    assert code == 1, printed.err
    assert "2.png: left out of the evaluation: the image cannot be decoded" in printed.err
    numbers = json.loads(printed.out)
    assert (numbers["images"], numbers["boxes"]) == (9, 9)
    assert [path.rsplit("/", 1)[1] for path in numbers["unreadable"]] == ["2.png"]
    rows = json.loads(out.read_text())
    assert {row["image_id"] for row in rows} <= {7, 8, 10, 11, 12, 13, 14, 15, 16}
    assert {row["category_id"] for row in rows} <= {4, 9}
    # The same detections from the file, against the truth without that image.
    truth = json.loads((data / "annotations.json").read_text())
    truth["images"] = [image for image in truth["images"] if image["id"] != 9]
    truth["annotations"] = [row for row in truth["annotations"] if row["image_id"] != 9]
    (tmp_path / "gt.json").write_text(json.dumps(truth))
    code = main(["eval", "--ground-truth", str(tmp_path / "gt.json"), "--detections", str(out), "--json"])
    assert code == 0
    again = json.loads(capsys.readouterr().out)
    assert again["AP50"] == pytest.approx(numbers["AP50"], abs=1e-9)
    assert again["AR100"] == pytest.approx(numbers["AR100"], abs=1e-9)


def test_a_run_is_tried_on_what_it_validated_on(model, data, tmp_path, capsys):
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(model, run / "model.npz")
    recipe = f'[data]\ntrain = "{data}"\nvalidation_fraction = 0.3\n[model]\ninput = 96\n'
    (run / "recipe.toml").write_text(recipe)
    assert main(["eval", str(run), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["images"] == 3
    assert "validates on 3 of 10 images" in printed.err


def test_numbers_are_the_converters_with_a_broken_image_in_the_middle(model, data, tmp_path, capsys):
    """VOC has no numbers of its own: the converter counts from 1, the broken image too."""
    voc, coco, out = tmp_path / "voc", tmp_path / "coco", tmp_path / "dt.json"
    content = json.loads((data / "annotations.json").read_text())
    for number, image in enumerate(content["images"]):
        image["file_name"] = f"image-{number}.png"
        (data / f"{number}.png").rename(data / image["file_name"])
    (data / "annotations.json").write_text(json.dumps(content))
    assert main(["data", "convert", str(data), str(voc), "--to", "voc"]) == 0
    for annotation in voc.rglob("*.xml"):  # as anybody else writes it
        annotation.write_text(re.sub("<imageid>.*</imageid>", "", annotation.read_text()))
    (broken,) = voc.rglob("image-2.png")
    broken.write_bytes(broken.read_bytes()[:200])
    assert main(["data", "convert", str(voc), str(coco), "--to", "coco"]) == 0
    capsys.readouterr()
    assert main(["eval", str(model), str(voc), "--json", "--out", str(out)]) == 1
    numbers = json.loads(capsys.readouterr().out)
    (written,) = coco.rglob("*.json")
    truth = json.loads(written.read_text())
    assert [image["id"] for image in truth["images"]] == list(range(1, 11))
    left = {image["id"] for image in truth["images"] if not image["file_name"].endswith("-2.png")}
    assert {row["image_id"] for row in json.loads(out.read_text())} == left
    truth["images"] = [image for image in truth["images"] if image["id"] in left]
    truth["annotations"] = [row for row in truth["annotations"] if row["image_id"] in left]
    (tmp_path / "gt.json").write_text(json.dumps(truth))
    main(["eval", "--ground-truth", str(tmp_path / "gt.json"), "--detections", str(out), "--json"])
    again = json.loads(capsys.readouterr().out)
    assert {name: again[name] for name in ("AP", "AR100")} == pytest.approx(
        {name: numbers[name] for name in ("AP", "AR100")}, abs=1e-9
    )
    assert numbers["AR100"] > 0


def test_a_run_on_some_of_the_classes_leaves_the_others_out_as_it_did_in_training(
    model, data, tmp_path, capsys
):
    content = json.loads((data / "annotations.json").read_text())
    content["categories"].append({"id": 2, "name": "bird"})
    bird = {"category_id": 2, "bbox": [5, 5, 40, 40], "area": 1600}
    content["annotations"] += [{"id": 10 + n, "image_id": 7 + n, **bird} for n in range(10)]
    (data / "annotations.json").write_text(json.dumps(content))
    run, out = tmp_path / "run", tmp_path / "dt.json"
    run.mkdir()
    shutil.copy(model, run / "model.npz")
    (run / "recipe.toml").write_text(
        f'[data]\ntrain = "{data}"\nvalidation_fraction = 0.3\nclasses = ["cat", "dog"]\n[model]\ninput = 96\n'
    )
    code = main(["eval", str(run), "--json", "--out", str(out)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    numbers = json.loads(printed.out)
    assert (numbers["images"], numbers["boxes"]) == (3, 3)
    assert [one["name"] for one in numbers["classes"]] == ["cat", "dog"]
    assert "of classes that the run does not train are left out, as in training: bird (3)" in printed.err
    assert printed.err.count("left out") == 1
    assert {row["category_id"] for row in json.loads(out.read_text())} == {4, 9}
    from holdfast import settings
    from holdfast.train.dataset_setup import load_splits

    assert load_splits(settings.read(run / "recipe.toml")).validation.class_ids == (4, 9)
    assert main(["eval", str(run), str(data)]) == 2, "on data that was named, they would count as missed"
    assert "classes that the model was not trained for" in " ".join(capsys.readouterr().err.split())


def test_what_is_wrong_is_said(model, data, tmp_path, capsys):
    def said(*args):
        assert main(["eval", *map(str, args)]) == 2
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return " ".join(printed.err.split())

    assert "there is no model or run at this path" in said(tmp_path / "no", data)
    assert "is not a run, so it has no validation set" in said(model)
    assert "no split named 'test'" in said(model, data, "--split", "test")
    assert "the detections would overwrite something" in said(model, data, "--out", data / "0.png")
    assert "the folder to write into does not exist" in said(
        model, data, "--out", tmp_path / "no" / "dt.json"
    )
    assert "--out writes the detections of a model" in said("--out", tmp_path / "dt.json")
    assert "--batch must be an integer of at least 1" in said(model, data, "--batch", "0")
    (tmp_path / "model.npz").write_bytes(b"PK nothing")
    assert "is not a detector that Holdfast saved" in said(tmp_path / "model.npz", data)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert str(empty) in said(model, empty)
