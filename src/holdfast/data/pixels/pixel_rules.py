"""All rules that look at the sample of images, and what they find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.data.dataset_reader import Problem
from holdfast.data.findings import Tally
from holdfast.data.pixels import copied_views, drawn_frames, unannotated_class, unrelated_boxes
from holdfast.data.pixels.learned_objects import LearnedObjects
from holdfast.data.pixels.look_sample import CloseLook, LookSample, looks_at
from holdfast.data.pixels.misplaced_boxes import misplacements
from holdfast.data.pixels.object_looks import ObjectLooks

FEWEST = 8  # images; of fewer nothing is known
#: What boxes elsewhere lead to, and what is repaired by no cut at the edge.
CONSEQUENCES = frozenset(
    ("outside-box", "edge-rounding", "boxes-of-another-size", "corners-as-size", "tiny-box")
)

#: What says where the boxes should be.
BOXES_ELSEWHERE = ("misplaced-boxes", "shifted-annotations", "image-id-off-by-one", "mirrored-boxes")


def add_findings(sample: LookSample, tally: Tally, path: str, processes: int | None = None) -> None:
    """Look at the sample, and add what it shows to the other findings."""
    chosen = sample.chosen()
    if len(chosen) < FEWEST:
        return
    looks = list(looks_at(chosen, processes))
    for problem in _misplaced(looks, tally):
        tally.add(problem)
    if not any(tally.has(slug) for slug in BOXES_ELSEWHERE):
        for problem in unrelated_boxes.problems(looks, path):
            tally.add(problem)
    for problem in (*drawn_frames.problems(looks, path), *ObjectLooks(looks).problems(path)):
        tally.add(problem)
    if not tally.has("class-stops"):
        for problem in unannotated_class.problems(looks, path):
            tally.add(problem)
    for problem in copied_views.problems(looks, path):
        if problem.finding != "split-neighbours" or not tally.has("split-neighbours"):
            tally.add(problem)


def _misplaced(looks: Sequence[CloseLook], tally: Tally) -> Iterator[Problem]:
    boxed = [look for look in looks if len(look.boxes)]
    elsewhere: set[int] = set()
    for found in misplacements(looks):
        elsewhere.update(found.members)
        yield Problem("misplaced-boxes", boxed[found.members[0]].file, found.text, len(found.members))
    for found in LearnedObjects(boxed).misplacements(frozenset(elsewhere)):
        elsewhere.update(found.members)
        if not (found.how.startswith("mirrored") and tally.has("mirrored-boxes")):
            yield Problem("misplaced-boxes", boxed[found.members[0]].file, found.text, len(found.members))
    outside = {at for at, look in enumerate(boxed) if _leaves(look)}
    if elsewhere and outside <= elsewhere:
        tally.drop(CONSEQUENCES)


def _leaves(look: CloseLook) -> bool:
    slack = 1.5 * look.scale
    sides = look.sides
    return bool(
        (look.boxes[:, :2] < -slack).any() or (look.boxes[:, 2:] > [side + slack for side in sides]).any()
    )
