"""Boxes and classes of places in the targets of a detector."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.probe.detection import detection_samples

_IMAGES = np.zeros((40, 48, 48, 3), "float32")


def _boxes(places: int = 1) -> Any:
    random = np.random.default_rng(0)
    corner = random.uniform(0, 24, (40, places, 2))
    return np.concatenate([corner, corner + random.uniform(4, 20, (40, places, 2))], axis=-1)


def test_corners_and_sizes_are_told_apart() -> None:
    corners = _boxes()[:, 0]
    seen = detection_samples.targets_seen([_IMAGES], [corners], [])
    assert seen is not None and seen.corners == 1.0 and seen.box_rows == 40 and seen.image == [48, 48]
    sized = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
    other = detection_samples.targets_seen([_IMAGES], [sized], [])
    assert other is not None and other.corners is not None and other.corners < 0.9 and other.no_size == 0.0


def test_padding_is_no_box() -> None:
    boxes, ids = _boxes(3), np.ones((40, 3), "int64")
    boxes[:, 1:], ids[:, 1:] = -1.0, 0
    seen = detection_samples.targets_seen([_IMAGES], [boxes, ids], ["box", "kind"])
    assert seen is not None and (seen.boxes, seen.classes) == ("box", "kind")
    assert seen.box_rows == 40 and seen.columns[0][0] >= 0
    assert seen.with_box == {"1": 40} and seen.without_box == {"0": 80} and seen.padded == 1.0
    seen = detection_samples.targets_seen([_IMAGES], [boxes[:, ::-1], ids[:, ::-1]], ["box", "kind"])
    assert seen is not None and seen.padded == 0.0


def test_a_fifth_number_says_whether_there_is_a_box() -> None:
    there = np.zeros((40, 3, 1))
    there[:, 0] = 1.0
    boxes = np.concatenate([_boxes(3), there], axis=-1)
    seen = detection_samples.targets_seen(
        [_IMAGES], [boxes, np.arange(120).reshape(40, 3) % 2], ["box", "kind"]
    )
    assert seen is not None and seen.box_rows == 40
    assert sum(seen.with_box.values()) == 40 and sum(seen.without_box.values()) == 80


def test_labels_of_rows_and_numbers_are_no_detection() -> None:
    ids, one_hot = np.arange(40) % 4, np.eye(4)[np.arange(40) % 4]
    for target in (ids, one_hot, np.random.default_rng(0).normal(size=(40, 3))):
        assert detection_samples.targets_seen([_IMAGES], [target], []) is None


def test_answers_at_every_place() -> None:
    wanted = np.zeros((8, 10), "int64")
    wanted[:, 3] = 2
    blind = np.zeros((8, 10, 3))
    blind[..., 0] = 1.0
    seen = detection_samples.answers_seen(wanted, blind, "kind", step=5, fit=1)
    assert seen.answered == {"0": 80} and seen.apart == 0.5 and seen.most_frequent == 0
    seen = detection_samples.answers_seen(wanted, np.eye(3)[wanted], "kind", step=5, fit=1)
    assert seen.answered == {"0": 72, "2": 8} and seen.apart == 1.0


def _map() -> Any:
    """Three objects in each image, of classes 0 to 2; a place without one is all zeros."""
    rng = np.random.default_rng(1)
    made = np.zeros((30, 8, 8, 5), "float32")
    for image in made:
        for place, kind in zip(rng.permutation(64)[:3], range(3), strict=True):
            image[place // 8, place % 8] = [kind, 0.5, 0.5, *rng.uniform(0.2, 0.8, 2)]
    return made


def test_boxes_and_ids_in_one_map() -> None:
    seen = detection_samples.targets_seen([_IMAGES], [_map()], [])
    assert seen is not None and seen.packed
    assert (seen.with_box, seen.without_box) == ({"0": 30, "1": 30, "2": 30}, {"0": 30 * 61})


def test_which_objects_a_model_tells_from_places_without_one() -> None:
    target = _map()
    answers = np.random.default_rng(2).uniform(0, 0.1, (*target.shape[:-1], 4))
    answers[..., 1] += target[..., 0] > 0  # the class 0 is answered like background
    seen = detection_samples.packed_answers_seen(target, answers, step=5, fit=1)
    assert seen.found_by_id["0"] < 0.2 and min(seen.found_by_id["1"], seen.found_by_id["2"]) > 0.8
    answers[..., 2] += target[..., 3] > 0  # and here a number says where there is one
    seen = detection_samples.packed_answers_seen(target, answers, step=5, fit=1)
    assert min(seen.found_by_id.values()) > 0.7
    assert detection_samples.packed_answers_seen(target, answers * 0, step=5, fit=1).found_by_id == {}


def test_images_with_their_channels_first() -> None:
    seen = detection_samples.targets_seen([np.zeros((40, 3, 48, 32), "float32")], [_boxes()[:, 0]], [])
    assert seen is not None and seen.image == [48, 32]


def test_edges_that_a_mirror_exchanges_and_boxes_beside_the_image() -> None:
    boxes = _boxes()[:, 0] + 4
    exchanged = boxes.copy()
    exchanged[::2, [0, 2]] = 48 - exchanged[::2][:, [0, 2]]
    seen = detection_samples.targets_seen([_IMAGES], [exchanged], [])
    assert seen is not None and (seen.inverted, seen.outside) == ([0.5, 0.0], [0.0, 0.0])
    beside = boxes.copy()
    beside[::2, [0, 2]] = 1 - beside[::2][:, [2, 0]]
    seen = detection_samples.targets_seen([_IMAGES], [beside], [])
    assert seen is not None and (seen.inverted, seen.outside) == ([0.0, 0.0], [0.5, 0.0])


def test_a_mask_says_which_cells_have_an_object() -> None:
    there = np.zeros((40, 6, 6), "float32")
    there[:, 2, 3] = 1
    ids = np.where(there > 0, np.arange(40)[:, None, None] % 3, 0)
    offsets = np.zeros((40, 6, 6, 2), "float32")
    for targets in ([ids, offsets, there], [there, ids]):
        seen = detection_samples.targets_seen([_IMAGES], targets, [])
        assert seen is not None and seen.box_rows == 40 and seen.highest_id == 2
        assert seen.with_box == {"0": 14, "1": 13, "2": 13} and seen.without_box == {"0": 1400}
