"""`holdfast eval` and the validation inside `holdfast train` give one number for one model and one set of images."""

import json

import numpy as np
import pytest
from PIL import Image

from holdfast.cli.main import main
from tests.pipeline.rectangles import save

pytestmark = pytest.mark.hot

NUMBERS = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100")


@pytest.fixture(scope="module")
def letterboxing(tmp_path_factory):
    """A detector that keeps an image's shape, with class heads that shout."""
    from tests.detectors import shouting

    return shouting.saved("retinanet", tmp_path_factory.mktemp("run"))


def photographs(folder):
    """Turned, shrunk a little and a lot, enlarged; JPEG and PNG. The sizes letterbox to halves of pixels, too."""
    rng = np.random.default_rng(3)
    sizes = [(640, 481), (300, 401), (97, 96), (96, 96), (1001, 333), (60, 40), (205, 191), (500, 1000)]
    made = []
    for number, (width, height) in enumerate(sizes):
        small = rng.integers(0, 256, (6, 8, 3)).astype(np.uint8)
        image = np.asarray(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC))
        name = f"{number}.{'png' if number % 4 == 1 else 'jpg'}"
        save(folder / name, image, orientation=(1, 1, 6, 1, 3, 1, 8, 5)[number])
        made.append((name, width, height))
    return made


def as_coco(folder, made, boxes_of):
    """Two of the detections of each image as its truth, moved a little, so that every overlap counts."""
    annotations = []
    for row, (_, width, height) in enumerate(made):
        for box, label in boxes_of(row):
            x1, y1, x2, y2 = np.clip(box + np.array([-1.5, 0.5, 2.0, 1.0]), 0, [width, height, width, height])
            one = {"id": len(annotations) + 1, "image_id": row, "category_id": int(label), "iscrowd": 0}
            annotations.append(one | {"bbox": [x1, y1, x2 - x1, y2 - y1], "area": (x2 - x1) * (y2 - y1) / 2})
    images = [{"id": n, "file_name": name, "width": w, "height": h} for n, (name, w, h) in enumerate(made)]
    categories = [{"id": 0, "name": "cat"}, {"id": 1, "name": "dog"}]
    content = {"images": images, "categories": categories, "annotations": annotations}
    (folder / "annotations.json").write_text(json.dumps(content))


def validated(model, folder, skip_bad=0):
    """What the trainer's validation finds and what it scores, by the trainer's own assembly of it."""
    from holdfast.detectors.inference import compile_detect
    from holdfast.detectors.model_file import load
    from holdfast.settings import read
    from holdfast.train import components
    from holdfast.train.validation import Validation

    detector = load(model)
    recipe = folder.with_name("recipe.toml")
    recipe.write_text(
        f'[data]\ntrain = "{folder}"\nvalidation = "{folder}"\nclasses = ["cat", "dog"]\nskip_bad = {skip_bad}\n'
        f'[model]\ndetector = "{detector.spec.detector}"\ninput = 96\n[train]\nbatch = 3\n'
    )
    found = []
    stream = components.build_data(read(recipe)).validation
    numbers = Validation(
        stream, compile_detect(detector), lambda number: None, lambda truth, seen, score: found.append(seen)
    )
    return numbers(lambda: False), found[0]


@pytest.mark.parametrize("which", ["model", pytest.param("letterboxing", marks=pytest.mark.proof)])
def test_eval_gives_what_validation_gives(which, request, tmp_path, capsys):
    model = request.getfixturevalue(which)
    data = tmp_path / "data"
    data.mkdir()
    made = photographs(data)
    as_coco(data, made, lambda row: [(np.array([5.0, 5, 30, 30]), row % 2)])
    _, found = validated(model, data)

    def best_two(row):
        mine = np.flatnonzero(found.image == row)[:2]
        corners = found.boxes[mine] + np.pad(found.boxes[mine][:, :2], ((0, 0), (2, 0)))
        return zip(corners, found.category[mine], strict=True)

    as_coco(data, made, best_two)
    inside, _ = validated(model, data)
    capsys.readouterr()
    assert main(["eval", str(model), str(data), "--json", "--batch", "5"]) == 0
    outside = json.loads(capsys.readouterr().out)
    assert inside["AP50"] > 0.1
    assert same(inside, outside)


def same(inside, outside):
    return {name: outside[name] for name in NUMBERS} == pytest.approx(
        {name: inside[name] for name in NUMBERS}, abs=1e-6
    )


def test_an_image_that_is_skipped_is_no_part_of_either(model, tmp_path, capsys):
    data = tmp_path / "data"
    data.mkdir()
    made = photographs(data)
    (data / "4.jpg").write_bytes((data / "4.jpg").read_bytes()[:4000])  # its header is whole
    (data / "6.jpg").write_bytes(b"nothing")
    as_coco(data, made, lambda row: [(np.array([5.0, 5, 30, 30]), row % 2)])
    inside, found = validated(model, data, skip_bad=2)
    assert set(found.image.tolist()) <= set(range(6)), "six images are left"
    capsys.readouterr()
    assert main(["eval", str(model), str(data), "--json"]) == 1
    outside = json.loads(capsys.readouterr().out)
    assert (outside["images"], outside["boxes"]) == (6, 6)
    assert inside["AR100"] > 0
    assert same(inside, outside)
