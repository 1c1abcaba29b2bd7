import json

import pytest

from holdfast.cli.main import main

TRUTH = {
    "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 3, "file_name": "b.jpg"}],
    "categories": [{"id": 90, "name": "dog"}, {"id": 1, "name": "cat"}],
    "annotations": [{"id": 0, "image_id": 7, "category_id": 90, "bbox": [10, 10, 50, 50]}],
}
FOUND = [{"image_id": 7, "category_id": 90, "bbox": [10, 10, 50, 50], "score": 0.9}]


def run(tmp_path, capsys, truth, found, *more):
    (tmp_path / "gt.json").write_text(truth if isinstance(truth, str) else json.dumps(truth))
    (tmp_path / "dt.json").write_text(found if isinstance(found, str) else json.dumps(found))
    code = main(
        [
            "eval",
            "--ground-truth",
            str(tmp_path / "gt.json"),
            "--detections",
            str(tmp_path / "dt.json"),
            *more,
        ]
    )
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_json(tmp_path, capsys):
    code, out, _ = run(tmp_path, capsys, TRUTH, FOUND, "--json")
    assert code == 0
    assert json.loads(out)["AP"] == pytest.approx(1.0)
    assert [one["name"] for one in json.loads(out)["classes"]] == ["cat", "dog"]


def test_empty_detections_are_zero_and_no_boxes_is_minus_one(tmp_path, capsys):
    _, out, _ = run(tmp_path, capsys, TRUTH, [], "--json")
    assert json.loads(out)["AP"] == 0.0
    _, out, _ = run(tmp_path, capsys, TRUTH | {"annotations": []}, FOUND, "--json")
    assert json.loads(out)["AP"] == -1.0


def test_difficult_boxes_of_our_own_converter_count_neither_way(tmp_path, capsys):
    hard = {"id": 1, "image_id": 3, "category_id": 90, "bbox": [10, 10, 50, 50], "area": 2500, "iscrowd": 0}
    seen = [*FOUND, {"image_id": 3, "category_id": 90, "bbox": [12, 10, 50, 50], "score": 0.95}]
    numbers = {}
    for difficult in (0, 1):
        rows = [*TRUTH["annotations"], hard | {"difficult": difficult}]
        for name, found in (("missed", FOUND), ("seen", seen)):
            _, out, _ = run(tmp_path, capsys, TRUTH | {"annotations": rows}, found, "--json")
            told = json.loads(out)
            numbers[name, difficult] = [told["boxes"], round(told["AP50"], 4), round(told["voc_map50"], 4),
                                        told["mistakes"]["right"], told["mistakes"]["missed"]]  # fmt: skip
    assert numbers == {
        ("missed", 0): [2, 0.505, 0.5, 1, 1], ("seen", 0): [2, 1.0, 1.0, 2, 0],
        ("missed", 1): [1, 1.0, 1.0, 1, 0], ("seen", 1): [1, 1.0, 1.0, 1, 0],
    }  # fmt: skip


def wrong(row):
    return [FOUND[0] | row]


@pytest.mark.parametrize(
    ("truth", "found", "says"),
    [
        ("{", FOUND, "the ground truth file is not JSON"),
        ([], FOUND, "a list of 0"),
        ({"images": []}, FOUND, "an object with the keys 'images'"),
        (TRUTH, {"boxes": []}, "an object with the keys 'boxes'"),
        (TRUTH, [3], "entry 0 is the int '3'"),
        (TRUTH, wrong({"image_id": 8}), "an image that the ground truth does not have"),
        (TRUTH, wrong({"image_id": "7"}), "write image_id as the ground truth does: 3, not '7'"),
        (TRUTH, wrong({"category_id": 2}), "a category that the ground truth does not have"),
        (TRUTH, wrong({"score": None}), "entry 0 has the score None"),
        (TRUTH, wrong({"score": float("nan")}), "entry 0 has the score nan"),
        (TRUTH, wrong({"bbox": [1, 2, 3]}), "entry 0 has the bbox [1, 2, 3]"),
        (TRUTH, wrong({"bbox": [1, 2, -3, 4]}), "no side below 0"),
        (TRUTH | {"annotations": [{"image_id": 99, "category_id": 1}]}, FOUND, "does not list: 99"),
        (TRUTH | {"images": [{"id": 7}, {"id": 7}]}, FOUND, "1 ids of images occur twice: 7"),
        (TRUTH | {"annotations": [{"image_id": 7, "category_id": 1}]}, FOUND, "annotations[0] has the bbox None"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, capsys, truth, found, says):
    code, out, err = run(tmp_path, capsys, truth, found)
    assert (code, out) == (2, "")
    assert says in " ".join(err.split())
    assert "Traceback" not in err


def test_missing_file_and_folder(tmp_path, capsys):
    code = main(["eval", "--ground-truth", str(tmp_path / "no.json"), "--detections", str(tmp_path)])
    assert code == 2
    assert "the ground truth file does not exist" in capsys.readouterr().err
    (tmp_path / "gt.json").write_text(json.dumps(TRUTH))
    assert main(["eval", "--ground-truth", str(tmp_path / "gt.json"), "--detections", str(tmp_path)]) == 2
    assert "the detections is a folder" in capsys.readouterr().err


def test_a_score_outside_its_range(tmp_path, capsys):
    code, _, err = run(tmp_path, capsys, TRUTH, FOUND, "--score", "7")
    assert code == 2
    assert "--score must be a number from 0 to 1" in err
