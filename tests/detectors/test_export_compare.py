import numpy as np
import pytest

from holdfast.detectors.export.verify_export import (
    FLOAT_TOLERANCE,
    INT8_TOLERANCE,
    DetectionArrays,
    ExportDiffers,
    compare,
)

BLANK = [np.zeros((2, 2, 3), np.uint8)]


def answer(*rows):
    """Rows of x1, y1, x2, y2, score, class."""
    table = np.array(rows, float).reshape(-1, 6)
    return DetectionArrays(table[:, :4], table[:, 4], table[:, 5].astype(int))


def both(ours, theirs, tolerance=FLOAT_TOLERANCE):
    return compare(lambda _: ours, lambda _: theirs, BLANK, tolerance)


def test_another_place_is_refused_with_numbers():
    with pytest.raises(ExportDiffers) as caught:
        both(answer([0, 0, 1, 1, 0.5, 1]), answer([1, 1, 2, 2, 0.5, 1]))
    assert caught.value.found == (
        "0 of 2 detections have a partner; wanted: 99% of the detections have a partner within 0.05 pixels "
        "and 0.001 of score",
    )


@pytest.mark.parametrize(
    "theirs",
    [
        answer([0, 0, 10, 10, 0.5, 0]),  # another class
        answer([0, 0, 10, 10, 0.51, 1]),  # another score
        answer(),  # nothing
        answer([0, 0, 10, 10, 0.5, 1], [3, 3, 9, 9, 0.4, 1]),  # something more
    ],
)
def test_what_differs_is_refused(theirs):
    with pytest.raises(ExportDiffers):
        both(answer([0, 0, 10, 10, 0.5, 1]), theirs)


def test_detections_that_change_places_are_the_same():
    ours = answer([0, 0, 1, 1, 0.5, 1], [5, 5, 9, 9, 0.4999, 0])
    theirs = answer([5, 5.01, 9, 9, 0.4999, 0], [0, 0, 1, 1, 0.5, 1])
    found = both(ours, theirs)
    assert (found.detections, found.unmatched) == (4, 0)
    assert found.boxes == pytest.approx(0.01)


def test_padding_is_not_asked_for():
    found = both(answer([0, 0, 0, 0, 0, -1]), answer([1, 1, 2, 2, 0, -1]))
    assert found.detections == 0


def test_eight_bits_ask_for_overlap_and_only_for_what_is_sure():
    ours = answer([0, 0, 10, 10, 0.9, 1], [50, 50, 60, 60, 0.2, 1])
    assert both(ours, answer([0, 1, 10, 11, 0.8, 1]), INT8_TOLERANCE).detections == 2  # IoU 90/110 = 0.818
    with pytest.raises(ExportDiffers):
        both(ours, answer([0, 2, 10, 12, 0.9, 1]), INT8_TOLERANCE)  # IoU 80/120 = 0.667
    with pytest.raises(ExportDiffers):
        both(ours, answer([0, 0, 10, 10, 0.7, 1]), INT8_TOLERANCE)
