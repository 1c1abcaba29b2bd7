"""A class that one part of the images never has, and nearly all others have: somebody annotated less there.

Names and counts alone do not prove it, for a motorway has no pedestrians. Things that look like the class, where that
part has no box, do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.data.dataset_reader import Problem
from holdfast.data.pixels.look_sample import MOST_BOXES
from holdfast.data.pixels.subsets import named_parts_of
from holdfast.data.pixels.window_scores import WindowScores

if TYPE_CHECKING:
    from holdfast.data.pixels.look_sample import CloseLook

FEWEST_IMAGES = 10  # with boxes, in the part and in the rest
LEAST_RATE = 0.3  # of the rest's images have the class
CHANCE = 1e-6  # that none of the part has it
AS_BEFORE = 1.5  # times as often, or as seldom: another class is annotated in both
MOST_LEARNED = 80  # images of the rest
MOST_JUDGED = 60  # images of the part
MOST_CANDIDATES = 3
TELLS = 0.68  # the best window at a box is better than the best without one, so often
PRESENT = 0.7  # the best window of the part is better than the best without a box elsewhere, so often
ABSENT = 0.6
AS_GOOD = 0.75  # the best window at a box is better than the best of the part, so often or less


@dataclass(frozen=True, slots=True)
class _Candidate:
    part: str
    members: tuple[int, ...]
    name: str
    there: int  # images of the rest with the class
    rest: tuple[int, ...]


def problems(looks: Sequence[CloseLook], path: str) -> Iterator[Problem]:
    """Warnings where the pixels agree, notes where they do not decide, nothing where they contradict."""
    boxed = [look for look in looks if len(look.boxes)]
    found: set[str] = set()
    for candidate in _candidates(boxed)[:MOST_CANDIDATES]:
        if candidate.name in found:
            continue
        seen = _seen(boxed, candidate)
        if seen == "absent":
            continue
        found.add(candidate.name)
        said = f"{candidate.name!r} is in {candidate.there} of {len(candidate.rest)} other images looked at, and in "
        said += f"none of {len(candidate.members)} {candidate.part}, where the other classes are as usual"
        said += "; things that look like it are there without a box" if seen == "present" else ""
        slug = "class-not-annotated" if seen == "present" else "class-absent-from-part"
        yield Problem(slug, path, said, len(candidate.members))


def _candidates(looks: Sequence[CloseLook]) -> list[_Candidate]:
    """Parts without a class, the largest first."""
    import numpy as np

    classes = sorted({name for look in looks for name in look.names})
    if len(looks) < 2 * FEWEST_IMAGES or len(classes) < 2:
        return []
    there = np.array([[name in look.names for name in classes] for look in looks])
    full = np.array([len(look.boxes) >= MOST_BOXES for look in looks])
    found = []
    for part, members in named_parts_of(looks):
        inside = np.isin(np.arange(len(looks)), members)
        if min(inside.sum(), (~inside).sum()) < FEWEST_IMAGES or full[inside].any():
            continue
        here, rest = there[inside].mean(axis=0), there[~inside].mean(axis=0)
        usual = np.maximum(here, rest) >= LEAST_RATE
        alike = np.maximum(here, rest) <= AS_BEFORE * np.minimum(here, rest)
        lacking = usual & (here == 0) & ((1 - rest) ** int(inside.sum()) <= CHANCE)
        if lacking.sum() == 1 and (usual & alike).any() and (alike | ~usual | lacking).all():
            at = int(lacking.argmax())
            rest_of = tuple(np.flatnonzero(~inside).tolist())
            count = int(there[~inside, at].sum())
            found.append(_Candidate(part, tuple(members), classes[at], count, rest_of))
    return sorted(found, key=lambda one: -len(one.members))


def _seen(looks: Sequence[CloseLook], candidate: _Candidate) -> str:
    """Does the part show things of the class: "present", "absent", or "" where the pixels do not decide?"""
    rest, part = candidate.rest[:MOST_LEARNED], candidate.members[:MOST_JUDGED]
    chosen = [looks[at] for at in (*rest, *part)]
    windows = WindowScores(chosen, candidate.name)
    if not windows.possible():
        return ""
    at_boxes: list[float] = []
    without: list[float] = []
    for fold in (0, 1):
        model = windows.learned([at for at in range(len(rest)) if at % 2 != fold])
        if model is None:
            return ""
        left = [at for at in range(len(rest)) if at % 2 == fold]
        at_boxes += [windows.best(model, at, annotated=True) for at in left]
        without += [windows.best(model, at, annotated=False) for at in left]
    model = windows.learned(range(len(rest)))
    if model is None:
        return ""
    here = [windows.best(model, at, annotated=False) for at in range(len(rest), len(chosen))]
    if _better(at_boxes, without) < TELLS:
        return ""
    if _better(here, without) >= PRESENT and _better(at_boxes, here) <= AS_GOOD:
        return "present"
    return "absent" if _better(here, without) < ABSENT else ""


def _better(some: Sequence[float], others: Sequence[float]) -> float:
    """How often one of the first is above one of the second."""
    import numpy as np

    a, b = (np.array([value for value in values if value == value]) for values in (some, others))
    return float((a[:, None] > b[None]).mean()) if len(a) and len(b) else 0.0
